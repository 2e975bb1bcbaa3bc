// The language of a page. English is written in the page itself; a dictionary
// translates it for those who get another one.

let dictionary = {};

// speak chooses the language, with its dictionary from English where it has one.
export function speak(language, dictionaries) {
  document.documentElement.lang = language;
  dictionary = dictionaries[language.slice(0, 2)] ?? {};
}

export const say = (english) => dictionary[english] ?? english;

// fresh is a copy of a template's first element, in the chosen language.
export const fresh = (name) => translate(document.getElementById(name).content.cloneNode(true)).firstElementChild;

// translate puts a fragment into the chosen language.
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
