package meeting

// NavigationGuardScript returns JavaScript that must run before the scripts of
// every document that a meeting page loads. It prevents the document from
// starting the platform's program. Launchers try to, with and without a click,
// and Chromium then shows a dialog of its own under which the page accepts
// neither mouse nor keys.
func NavigationGuardScript() string { return navigationGuardScript }

const navigationGuardScript = `if (window.navigation && !window.navigation.standinGuarded) {
	window.navigation.standinGuarded = true;
	window.navigation.addEventListener("navigate", event => {
		if (event.cancelable && !/^(https?|about|blob|data|javascript):/i.test(event.destination.url)) event.preventDefault();
	});
}`
