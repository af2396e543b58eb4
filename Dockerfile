# All of toolvitals in one image; what a container runs is its command: up, collect, work, dashboard, demo, check …
FROM python:3.12-slim AS build

WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY cli cli
COPY collector collector
COPY dashboard dashboard
COPY schemas schemas
RUN python -m venv /opt/toolvitals \
    && /opt/toolvitals/bin/pip install --no-cache-dir --constraint constraints.txt '.[demo]'

FROM python:3.12-slim

# Root's, so that the program cannot change itself.
COPY --from=build /opt/toolvitals /opt/toolvitals
RUN useradd --system --uid 10001 --home-dir /data --no-create-home toolvitals \
    && install --directory --owner=toolvitals /data

USER toolvitals
WORKDIR /data
# In a container the ports are reached from outside it; which of them are published is decided there.
ENV PATH=/opt/toolvitals/bin:$PATH PYTHONUNBUFFERED=1 TOOLVITALS_DATA=/data TOOLVITALS_HOST=0.0.0.0
EXPOSE 4317 4318 4320 4321

# Right for `up` and `dashboard`; docker-compose.yml has those of the others. Without the proxies that Docker may set for containers.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as web; web.build_opener(web.ProxyHandler({})).open('http://127.0.0.1:4320/readyz', timeout=4)"]

ENTRYPOINT ["toolvitals"]
CMD ["up"]
