/** Builds and changes the page. Text is always set as text, so nothing from a server or a line becomes markup. */

/**
 * An element with properties, attributes (`aria-*`, `role`, `data-*`) and children.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown>} [properties]
 * @param {...(Node | string | null)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (/^(?:aria-|data-|role$)/.test(name)) element.setAttribute(name, String(value));
    else if (name.startsWith('on')) element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else Object.assign(element, { [name]: value });
  }
  for (const child of children) if (child !== null) element.append(child);
  return element;
}

/**
 * Changes a text only where it differs, so that screen readers and selections are not disturbed.
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no element ${id}`);
  return element;
}

/** Announces something to screen readers. @param {string} text */
export function announce(text) {
  setText(byId('announcements'), text);
}
