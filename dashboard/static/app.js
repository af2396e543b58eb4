// Draws the charts of a page and keeps it fresh in place. Every page works without this file: numbers and tables are in the HTML.

const REFRESH_MS = 10_000;
const PLOTLY = document.querySelector("script[data-plotly]").dataset.plotly;
const CONFIG = { displayModeBar: false, responsive: true, typesetMath: false, doubleClick: false, showTips: false };

const state = document.getElementById("live-state");
let updatedAt = Date.now();
let lost = false;

// Colours: figures name tokens of app.css, Plotly wants the colours that they stand for in the theme of now.

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

// Charts.

const sourceOf = (chart) => chart.querySelector('script[type="application/json"]');

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

async function draw(chart) {
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
  await plotly.react(plot, figure.data, figure.layout, CONFIG);
  if (!plot.dataset.ready) {
    plot.on("plotly_click", (event) => openCalls(plot, event.points));
    plot.on("plotly_relayout", (change) => chooseRange(plot, change));
  }
  plot.dataset.ready = "yes";
}

const drawAll = () => Promise.all([...document.querySelectorAll("figure.chart")].map(draw));

// A click on a bar opens the calls behind it.
function openCalls(plot, points) {
  const point = points[points.length - 1];
  const link = Array.isArray(point.customdata) ? point.customdata[0] : null;
  if (typeof link === "string" && link.startsWith("/calls?")) {
    location.assign(link);
    return;
  }
  const meta = plot.layout.meta;
  const query = point.data.meta?.query;
  if (!meta || !query) return;
  const start = Date.parse(point.x.replace(" ", "T").replace(/Z?$/, "Z"));
  const url = new URL(meta.calls, location.origin);
  setRange(url, Math.max(start, meta.from_ms), Math.min(start + meta.width_ms, meta.to_ms));
  for (const [name, value] of new URLSearchParams(query)) url.searchParams.set(name, value);
  location.assign(url);
}

// A selection on a time axis becomes the range of the page.
function chooseRange(plot, change) {
  const [from, to] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
  if (from === undefined || to === undefined) return;
  const minute = 60_000;
  const ms = (text) => Date.parse(String(text).replace(" ", "T").replace(/Z?$/, "Z"));
  const url = new URL(location.href);
  setRange(url, Math.floor(ms(from) / minute) * minute, Math.ceil(ms(to) / minute) * minute);
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

// Live refresh: the same page is asked for again, and only what differs is swapped, so scroll and open tables stay.

function swap(now, next) {
  const open = new Set([...now.querySelectorAll("details[open][data-keep]")].map((details) => details.dataset.keep));
  const scrolls = [...now.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
  now.replaceChildren(...document.importNode(next, true).childNodes);
  for (const details of now.querySelectorAll("details[data-keep]")) details.open = open.has(details.dataset.keep);
  now.querySelectorAll(".scroll").forEach((box, i) => (box.scrollLeft = scrolls[i] ?? 0));
}

function swapChart(now, next) {
  if (sourceOf(now).textContent === sourceOf(next).textContent) return;
  sourceOf(now).textContent = sourceOf(next).textContent;
  const [table, fresh] = [now, next].map((chart) => chart.querySelector(".as-table .scroll"));
  table.replaceChildren(...document.importNode(fresh, true).childNodes);
  draw(now);
}

const shape = (page) => [...page.querySelectorAll("main [id]:not(.plot *)")].filter((e) => e.matches("[data-swap], .chart")).map((e) => e.id).join();

async function refresh() {
  try {
    const answer = await fetch(location.href, { headers: { "x-toolvitals-refresh": "1" } });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (shape(page) !== shape(document)) {
      // A section came or went (the first span, the first failure): take the whole content.
      document.getElementById("content").replaceChildren(...document.importNode(page.getElementById("content"), true).childNodes);
      document.title = page.title;
      await drawAll();
    } else {
      for (const next of page.querySelectorAll("[data-swap]")) {
        const now = document.getElementById(next.id);
        const busy = now?.contains(document.activeElement) || selectionIn(now);
        if (now && !busy && now.innerHTML !== next.innerHTML) swap(now, next);
      }
      for (const next of page.querySelectorAll("figure.chart")) swapChart(document.getElementById(next.id), next);
    }
    updatedAt = Date.now();
    lost = false;
  } catch {
    lost = true;
  }
  tell();
}

function selectionIn(element) {
  const selection = getSelection();
  return Boolean(element && selection && !selection.isCollapsed && element.contains(selection.anchorNode));
}

function tell() {
  const seconds = Math.round((Date.now() - updatedAt) / 1000);
  const [name, text] = lost
    ? ["lost", `disconnected, data is ${seconds} s old`]
    : document.hidden
      ? ["paused", "paused"]
      : ["live", seconds < 2 ? "live" : `live · ${seconds} s ago`];
  state.dataset.state = name;
  const words = state.querySelector(".live-text");
  if (words.textContent !== text) words.textContent = text;
}

function startLive() {
  if (document.body.dataset.live !== "yes") return;
  state.hidden = false;
  // Every second counts would make a screen reader talk without end: only changes of state are announced.
  state.querySelector(".live-text").removeAttribute("role");
  let due = Date.now() + REFRESH_MS;
  let running = false;
  const tick = async () => {
    tell();
    if (document.hidden || running || Date.now() < due) return;
    running = true;
    await refresh();
    running = false;
    due = Date.now() + REFRESH_MS;
  };
  setInterval(tick, 1000);
  document.addEventListener("visibilitychange", tick);
}

// Theme: auto, light, dark.

function startTheme() {
  const button = document.getElementById("theme-button");
  const root = document.documentElement;
  const themes = ["auto", "light", "dark"];
  const show = () => {
    button.querySelector(".theme-text").textContent = { auto: "System", light: "Light", dark: "Dark" }[root.dataset.theme];
    button.setAttribute("aria-label", `Theme: ${root.dataset.theme}. Change it`);
    button.hidden = false;
  };
  button.addEventListener("click", () => {
    root.dataset.theme = themes[(themes.indexOf(root.dataset.theme) + 1) % themes.length];
    try {
      localStorage.setItem("toolvitals-theme", root.dataset.theme);
    } catch {
      // It holds for this page at least.
    }
    // A theme in the address would win again on the next load.
    const url = new URL(location.href);
    url.searchParams.delete("theme");
    history.replaceState(null, "", url);
    show();
    drawAll();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  show();
}

// Small things: copy a snippet, look at the evidence of a span, leave empty fields out of the address.

document.addEventListener("click", async (event) => {
  const copy = event.target.closest("button[data-copy]");
  if (copy) {
    await navigator.clipboard.writeText(document.getElementById(copy.dataset.copy).textContent);
    copy.textContent = "Copied";
  }
  const evidence = event.target.closest("a[data-evidence]");
  if (evidence && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    const box = document.getElementById("evidence");
    const answer = await fetch(evidence.href);
    const shown = JSON.stringify(await answer.json(), null, 2);
    // Characters that reorder or hide text are spelled out here as everywhere.
    box.querySelector("pre").textContent = shown.replace(/[\p{Cf}\u2028\u2029]/gu, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}`);
    document.getElementById("evidence-span").textContent = evidence.href.split("/").pop();
    box.hidden = false;
    box.scrollIntoView({ block: "nearest" });
  }
});

document.querySelector("form.filters")?.addEventListener("submit", (event) => {
  const form = event.target;
  for (const field of form.querySelectorAll("input, select")) if (!field.value) field.disabled = true;
  // Times that were typed beat the preset.
  if (form.elements.from?.value || form.elements.to?.value) form.elements.range && (form.elements.range.disabled = true);
});

// A choice in the filter bar acts at once; the button stays for what is typed.
document.querySelector("form.filters")?.addEventListener("change", (event) => {
  if (event.target.matches("select")) event.target.form.requestSubmit();
});

startTheme();
startLive();
drawAll();
