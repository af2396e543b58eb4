// Starts what a page can do beyond its HTML: charts, live refresh, theme, zone, copying. Numbers and tables need none of it.

import { drawAll } from "./charts.js";
import { startLive } from "./live.js";

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
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
  show();
}

// The browser's own zone, offered beside UTC and the team's.

function offerZone() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!zone) return;
  const select = document.querySelector("select[name=zone]");
  const there = [...(select?.options ?? [])].find((option) => option.text.split(" ")[0] === zone);
  if (there) there.text += there.text.includes("(") ? "" : " (this browser)";
  else select?.append(new Option(`${zone} (this browser)`, zone));
  // Pages without a filter bar have links instead.
  const links = document.getElementById("zones");
  if (links && !links.closest("footer").textContent.includes(zone)) {
    const link = document.createElement("a");
    link.href = `?${new URLSearchParams({ zone })}`;
    link.textContent = `Show ${zone} (this browser)`;
    links.append(link);
  }
}

// What is unfolded stands in the address, so that a reload and a shared link show the same.

function startFolding() {
  const asked = new Set((new URLSearchParams(location.search).get("open") ?? "").split(",").filter(Boolean));
  const folds = () => [...document.querySelectorAll("details[data-keep]")];
  for (const details of folds()) details.open ||= asked.has(details.dataset.keep);
  document.addEventListener("toggle", (event) => {
    if (event.target.matches("details[data-keep]")) keep("open", folds().filter((one) => one.open).map((one) => one.dataset.keep).join(","));
  }, true);
}

function keep(name, value) {
  const url = new URL(location.href);
  if (value) url.searchParams.set(name, value);
  else url.searchParams.delete(name);
  if (url.href !== location.href) history.replaceState(history.state, "", url);
}

// The evidence of a span, on demand.

async function showEvidence(link) {
  const box = document.getElementById("evidence");
  const answer = await fetch(link.href);
  const shown = JSON.stringify(await answer.json(), null, 2);
  // Characters that reorder or hide text are spelled out here as everywhere.
  box.querySelector("pre").textContent = shown.replace(/[\p{Cf}\u2028\u2029]/gu, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}`);
  const span = new URL(link.href).pathname.split("/").pop();
  document.getElementById("evidence-span").textContent = span;
  box.hidden = false;
  box.scrollIntoView({ block: "nearest" });
  box.querySelector("pre").focus({ preventScroll: true });
  keep("span", span);
}

function startEvidence() {
  const span = new URLSearchParams(location.search).get("span");
  const link = [...document.querySelectorAll("a[data-evidence]")].find((one) => span && one.href.endsWith(`/${span}`));
  if (link) showEvidence(link);
}

document.addEventListener("click", async (event) => {
  const copy = event.target.closest("button[data-copy]");
  if (copy) {
    await navigator.clipboard.writeText(document.getElementById(copy.dataset.copy).textContent);
    copy.textContent = "Copied";
  }
  const evidence = event.target.closest("a[data-evidence]");
  if (evidence && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    await showEvidence(evidence);
  }
});

// The filter bar: empty fields stay out of the address, and what was typed as times beats the preset.

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[method=get]");
  if (!form) return;
  const off = [...form.querySelectorAll("input, select")].filter((field) => !field.value);
  if (form.elements.from?.value || form.elements.to?.value) off.push(...[form.elements.range].filter(Boolean));
  for (const field of off) field.disabled = true;
  // The back button shows the page as it was left: with fields that can be used.
  addEventListener("pageshow", () => off.forEach((field) => (field.disabled = false)), { once: true });
});

// A choice acts at once; the button stays for what is typed.
document.addEventListener("change", (event) => {
  if (event.target.matches("form.filters select, form.filters input[type=checkbox], form.filters input[list]")) event.target.form.requestSubmit();
});

offerZone();
startFolding();
startEvidence();
startTheme();
startLive();
drawAll();
