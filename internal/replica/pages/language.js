// The language of a page. The page is written in English; dictionaries translate it.

let dictionary = {};
let renamed = {};

// rename replaces texts of the page, in any language.
export function rename(texts) { renamed = texts ?? {}; }

// speak sets the language. dictionaries contains a dictionary for each other language.
export function speak(language, dictionaries) {
  document.documentElement.lang = language;
  dictionary = dictionaries[language.slice(0, 2)] ?? {};
}

export const say = (english) => renamed[english] ?? dictionary[english] ?? english;

// fresh returns a translated copy of a template's first element.
export const fresh = (name) => translate(document.getElementById(name).content.cloneNode(true)).firstElementChild;

// translate translates a fragment.
export function translate(fragment) {
  for (const attribute of ["aria-label", "placeholder", "title"]) {
    for (const element of fragment.querySelectorAll(`[${attribute}]`)) {
      element.setAttribute(attribute, say(element.getAttribute(attribute)));
    }
  }
  const walker = document.createTreeWalker(fragment, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim();
    if (text) walker.currentNode.data = say(text);
  }
  return fragment;
}
