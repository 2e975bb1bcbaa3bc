// Returns the number of elements of the page's document, and the positions of those
// that listen for clicks. It runs among the page's own scripts, in the console.
() => {
	const clicks = ["click", "mousedown", "mouseup", "pointerdown", "pointerup"];
	const all = [...document.querySelectorAll("*")], listening = [all.length];
	for (let i = 0; i < all.length && listening.length < 2000; i++) {
		const listeners = getEventListeners(all[i]);
		if (clicks.some(type => listeners[type])) listening.push(i);
	}
	return listening;
}
