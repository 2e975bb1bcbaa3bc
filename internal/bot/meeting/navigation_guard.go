package meeting

// NavigationGuardScript returns JavaScript for every document that a meeting's page loads,
// to be run before the document's own scripts. It keeps the document from
// starting the platform's program: launchers try to, with and without a click,
// and the browser then asks in a box of its own whether to, over a page that
// takes neither mouse nor keys any more.
func NavigationGuardScript() string { return navigationGuardScript }

const navigationGuardScript = `if (window.navigation && !window.navigation.standinGuarded) {
	window.navigation.standinGuarded = true;
	window.navigation.addEventListener("navigate", event => {
		if (event.cancelable && !/^(https?|about|blob|data|javascript):/i.test(event.destination.url)) event.preventDefault();
	});
}`
