// Building and watching elements. Text is always set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function fillIn(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/**
 * An HTML element. Attributes that are null or false are left out; `onclick` and its like take
 * functions; children are nodes or texts.
 */
export function h(tag, attributes = {}, ...children) {
  return fillIn(document.createElement(tag), attributes, children);
}

/** An SVG element; otherwise as `h`. */
export function s(tag, attributes = {}, ...children) {
  return fillIn(document.createElementNS(SVG, tag), attributes, children);
}

let lastId = 0;

/** An id that no other element of the page has. */
export function freshId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}

/** Calls `draw(width)` now and whenever the width of `element` changes. */
export function drawToWidth(element, draw) {
  let width = 0;
  const redraw = () => {
    const now = Math.floor(element.clientWidth);
    if (now === width || now === 0) return;
    width = now;
    draw(width);
  };
  new ResizeObserver(redraw).observe(element);
  redraw();
}

/** Calls `draw` whenever the page turns light or dark, or its contrast changes. */
export function onSchemeChange(draw) {
  for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
    matchMedia(query).addEventListener("change", draw);
  }
}

/** The value of a CSS custom property where `element` stands. */
export function cssColour(element, name) {
  return getComputedStyle(element).getPropertyValue(name).trim();
}

/** `template` with each {name} replaced by values.name. */
export function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
}
