// Draws the figures of a page: plotly.js is fetched when the first one comes into sight, colours follow the theme.

const PLOTLY = document.querySelector("script[data-plotly]").dataset.plotly;
const CONFIG = { displayModeBar: false, responsive: true, typesetMath: false, doubleClick: false, showTips: false };

// Figures name tokens of app.css, Plotly wants the colours that they stand for in the theme of now.
const probe = document.createElement("i");
probe.hidden = true;
document.body.append(probe);

function resolved(value) {
  if (typeof value === "string" && value.startsWith("var(--")) {
    probe.style.color = value;
    return getComputedStyle(probe).color;
  }
  if (Array.isArray(value)) return value.map(resolved);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolved(inner)]));
}

export const sourceOf = (chart) => chart.querySelector('script[type="application/json"]');

function loadPlotly() {
  loadPlotly.promise ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = PLOTLY;
    script.onload = () => done(globalThis.Plotly);
    script.onerror = failed;
    document.head.append(script);
  });
  return loadPlotly.promise;
}

export async function draw(chart) {
  const plot = chart.querySelector(".plot");
  let plotly;
  try {
    plotly = await loadPlotly();
  } catch {
    plot.classList.add("failed");
    plot.textContent = "The chart could not be drawn. The table below has its numbers.";
    return;
  }
  const figure = resolved(JSON.parse(sourceOf(chart).textContent));
  // Traces over time have a value for each slot of the axis, whose labels are sent once.
  const slots = figure.layout.xaxis?.categoryarray;
  if (slots) for (const trace of figure.data) trace.x ??= slots;
  // A finger that moves over a chart scrolls the page; a mouse selects.
  if (matchMedia("(pointer: coarse)").matches) figure.layout.dragmode = false;
  await plotly.react(plot, figure.data, figure.layout, CONFIG);
  if (!plot.dataset.ready) {
    plot.on("plotly_click", (event) => open(plot, event.points));
    plot.on("plotly_relayout", (change) => chooseRange(plot, change));
  }
  plot.dataset.ready = "yes";
}

export const drawAll = (within = document) => Promise.all([...within.querySelectorAll("figure.chart")].map(draw));

// A click on a bar or dot opens what is behind it.
function open(plot, points) {
  const point = points[points.length - 1];
  const link = Array.isArray(point.customdata) ? point.customdata[0] : null;
  if (typeof link === "string" && /^\/(calls|tools\/)/.test(link)) {
    location.assign(link);
    return;
  }
  const meta = plot.layout.meta;
  const query = point.data.meta?.query;
  if (!meta || query === undefined || !point.y) return;
  const url = new URL(meta.calls, location.origin);
  setRange(url, meta.starts_ms[point.pointNumber], meta.starts_ms[point.pointNumber + 1] ?? meta.end_ms);
  for (const [name, value] of new URLSearchParams(query)) url.searchParams.set(name, value);
  location.assign(url);
}

// A selection on a time axis becomes the range of the page: the slots that it touches.
function chooseRange(plot, change) {
  const [from, to] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
  const meta = plot.layout.meta;
  if (from === undefined || to === undefined || !meta) return;
  const last = meta.starts_ms.length - 1;
  const [first, end] = [Math.max(0, Math.round(from)), Math.min(last, Math.round(to))];
  const url = new URL(location.href);
  setRange(url, meta.starts_ms[first], meta.starts_ms[end + 1] ?? meta.end_ms);
  url.searchParams.delete("page");
  url.searchParams.delete("cursor");
  location.assign(url);
}

function setRange(url, fromMs, toMs) {
  const iso = (ms) => new Date(ms).toISOString().replace(".000Z", "Z");
  url.searchParams.delete("range");
  url.searchParams.set("from", iso(fromMs));
  url.searchParams.set("to", iso(toMs));
}
