package meeting

// StayScript returns JavaScript for every document that a meeting's page loads,
// to be run before the document's own scripts. It keeps the document from
// starting the platform's program: launchers try to, with and without a click,
// and the browser then asks in a box of its own whether to, over a page that
// takes neither mouse nor keys any more.
func StayScript() string { return stayScript }

const stayScript = `if (window.navigation && !window.navigation.staysHere) {
	window.navigation.staysHere = true;
	window.navigation.addEventListener("navigate", event => {
		if (event.cancelable && !/^(https?|about|blob|data|javascript):/i.test(event.destination.url)) event.preventDefault();
	});
}`
