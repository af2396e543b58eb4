// Live refresh: the page is asked for again, only the parts in sight, and only what differs is swapped: scroll and open tables stay.

import { draw, drawAll, sourceOf } from "./charts.js";

const REFRESH_MS = 10_000;
const HEADER = "x-toolvitals-refresh";

const state = document.getElementById("live-state");
let updatedAt = Date.now();
let lost = false;

const copyOf = (element) => [...document.importNode(element, true).childNodes];
const partsOf = (page) => [...page.querySelectorAll("[data-part]")];
const names = (elements) => elements.map((element) => element.id).join(" ");

function inSight(element) {
  const box = element.getBoundingClientRect();
  return box.bottom > -200 && box.top < innerHeight + 200;
}

async function fetchPage(parts) {
  const answer = await fetch(location.href, { headers: { [HEADER]: parts } });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

async function refresh() {
  try {
    const seen = partsOf(document).filter(inSight);
    // The table beside a chart is part of what is seen only while it is open.
    const tables = [...document.querySelectorAll("details[open][data-keep^=table-]")].map((details) => details.dataset.keep);
    const page = await fetchPage([names(seen), ...tables].join(" ").trim() || "none");
    if (names(partsOf(page)) !== names(partsOf(document))) {
      // A part came or went (the first span, the first failure): take the whole content.
      const whole = await fetchPage("all");
      document.getElementById("content").replaceChildren(...copyOf(whole.getElementById("content")));
      document.title = whole.title;
      await drawAll();
    } else {
      for (const now of seen) swapPart(now, page.getElementById(now.id));
    }
    for (const next of page.querySelectorAll("header.top [data-swap]")) swap(document.getElementById(next.id), next);
    updatedAt = Date.now();
    lost = false;
  } catch {
    lost = true;
  }
  tell();
}

function swapPart(now, next) {
  const inside = ".chart, [data-swap]";
  const [old, fresh] = [now, next].map((part) => [...part.querySelectorAll(inside)]);
  if (!old.length || names(old) !== names(fresh)) {
    swap(now, next);
    return;
  }
  for (const [i, piece] of old.entries()) piece.matches(".chart") ? swapChart(piece, fresh[i]) : swap(piece, fresh[i]);
}

function swap(now, next) {
  if (now.contains(document.activeElement) || selectionIn(now) || now.innerHTML === next.innerHTML) return;
  const open = new Set([...now.querySelectorAll("details[open][data-keep]")].map((details) => details.dataset.keep));
  const scrolls = [...now.querySelectorAll(".scroll")].map((box) => [box.scrollLeft, box.scrollTop]);
  now.replaceChildren(...copyOf(next));
  for (const details of now.querySelectorAll("details[data-keep]")) details.open = open.has(details.dataset.keep);
  now.querySelectorAll(".scroll").forEach((box, i) => ([box.scrollLeft, box.scrollTop] = scrolls[i] ?? [0, 0]));
  drawAll(now);
}

function swapChart(now, next) {
  if (sourceOf(now).textContent === sourceOf(next).textContent) return;
  sourceOf(now).textContent = sourceOf(next).textContent;
  const [table, fresh] = [now, next].map((chart) => chart.querySelector(".as-table .scroll"));
  table.replaceChildren(...copyOf(fresh));
  draw(now);
}

function selectionIn(element) {
  const selection = getSelection();
  return Boolean(selection && !selection.isCollapsed && element.contains(selection.anchorNode));
}

function tell() {
  const seconds = Math.round((Date.now() - updatedAt) / 1000);
  const name = lost ? "lost" : document.hidden ? "paused" : "live";
  const text = { lost: `disconnected, data is ${seconds} s old`, paused: "paused", live: `updated ${seconds} s ago` }[name];
  const words = state.querySelector(".live-text");
  if (words.textContent !== text) words.textContent = text;
  // Every second spoken would make a screen reader talk without end: only changes of state are announced.
  if (state.dataset.state !== name) state.querySelector("[role=status]").textContent = { lost: "disconnected", paused: "", live: "live" }[name];
  state.dataset.state = name;
}

export function startLive() {
  if (document.body.dataset.live !== "yes") return;
  state.hidden = false;
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
  // What is opened may be older than the chart above it: it is fetched at once.
  document.addEventListener("toggle", (event) => {
    if (event.target.open && event.target.matches("details[data-keep^=table-]") && !event.target.querySelector("table")) due = 0;
    tick();
  }, true);
  document.addEventListener("visibilitychange", tick);
}
