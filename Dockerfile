# All of toolvitals in one image; what a container runs is its command: up, collect, work, dashboard or demo.
FROM python:3.12-slim

WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY cli cli
COPY collector collector
COPY dashboard dashboard
COPY schemas schemas
RUN pip install --no-cache-dir --constraint constraints.txt '.[demo]' \
    && useradd --system --uid 10001 --home-dir /data toolvitals \
    && install --directory --owner=toolvitals /data

USER toolvitals
WORKDIR /data
VOLUME /data
# In a container the ports are reached from outside it; which of them are published is decided there.
ENV TOOLVITALS_DATA=/data TOOLVITALS_HOST=0.0.0.0
EXPOSE 4317 4318 4320

HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:4320/readyz', timeout=2)"]

ENTRYPOINT ["toolvitals"]
CMD ["up"]
