// The stretch of time that linked charts show: moved and zoomed by pointer, wheel and keys, in one
// of them for all.

/**
 * @param {number} length of the whole, from 0
 * @param {number} smallest stretch that can be shown
 */
export function timeWindow(length, smallest) {
  let from = 0;
  let to = length;
  const listeners = [];
  const set = (newFrom, newTo) => {
    const width = Math.min(length, Math.max(smallest, newTo - newFrom));
    const start = Math.max(0, Math.min(newFrom, length - width));
    if (start === from && start + width === to) return;
    from = start;
    to = start + width;
    for (const listener of listeners) listener();
  };
  return {
    get from() { return from; },
    get to() { return to; },
    length,
    set,
    /** Zooms by `factor` (> 1: in) around `centre`. */
    zoom: (factor, centre = (from + to) / 2) =>
      set(centre - (centre - from) / factor, centre + (to - centre) / factor),
    /** Moves by a share of what is shown. */
    pan: (share) => set(from + share * (to - from), to + share * (to - from)),
    reset: () => set(0, length),
    subscribe: (listener) => listeners.push(listener),
  };
}

/**
 * Lets pointer, pinch and Ctrl + wheel on `element` move `window`. A plain wheel scrolls the page.
 * @param {() => {left: number, right: number}} area where in the element time runs, in pixels
 */
export function steer(element, window, area) {
  const pointers = new Map();
  const timeAt = (clientX) => {
    const { left, right } = area();
    const share = (clientX - element.getBoundingClientRect().left - left) / (right - left);
    return window.from + share * (window.to - window.from);
  };
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, event.clientX);
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return;
    const before = [...pointers.values()];
    const last = pointers.get(event.pointerId);
    pointers.set(event.pointerId, event.clientX);
    const after = [...pointers.values()];
    if (pointers.size === 1) {
      const { left, right } = area();
      window.pan((last - event.clientX) / (right - left));
    } else if (pointers.size === 2) {
      const distance = (pair) => Math.max(10, Math.abs(pair[0] - pair[1]));
      window.zoom(distance(after) / distance(before), timeAt((after[0] + after[1]) / 2));
    }
  });
  for (const end of ["pointerup", "pointercancel"]) {
    element.addEventListener(end, (event) => pointers.delete(event.pointerId));
  }
  element.addEventListener(
    "wheel",
    (event) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        window.zoom(Math.exp(-event.deltaY / 300), timeAt(event.clientX));
      } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        window.pan(event.deltaX / 600);
      }
    },
    { passive: false },
  );
  element.addEventListener("dblclick", (event) => window.zoom(2, timeAt(event.clientX)));
}

/** Handles the keys of a chart that shows `window`; true if the key was one of them. */
export function steerByKey(window, event) {
  const actions = {
    ArrowLeft: () => window.pan(-0.2),
    ArrowRight: () => window.pan(0.2),
    "+": () => window.zoom(1.5),
    "=": () => window.zoom(1.5),
    "-": () => window.zoom(1 / 1.5),
    0: () => window.reset(),
    Home: () => window.set(0, window.to - window.from),
    End: () => window.set(window.length - (window.to - window.from), window.length),
  };
  const action = event.altKey || event.ctrlKey || event.metaKey ? null : actions[event.key];
  if (!action) return false;
  action();
  return true;
}
