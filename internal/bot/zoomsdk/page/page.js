// Starts the SDK and gives the bot its handle: window.standinZoom.
(() => {
	"use strict";
	const events = window.standinZoomEvents, commands = window.standinZoomCommands;
	const {noted, note, fail, listen} = events;
	const {library, left, service} = document.body.dataset;

	// What stands on the page that the SDK's interface does not tell. The dialogs
	// are known by their labels, which are in no language of the viewer's.
	const visible = selector => [...document.querySelectorAll(selector)].find(element => {
		const box = element.getBoundingClientRect();
		return box.width > 0 && box.height > 0;
	});
	// Before a meeting the SDK shows its own forms in one place. That which waits
	// for the meeting's start asks its visitor for nothing, nor do its pictures of
	// progress.
	const form = () => {
		const found = visible(".root-inner");
		return found && found.innerText.trim() && !found.querySelector(".waiting-pannel, .loading-layer") ? found : null;
	};
	const heading = () => {
		const found = visible(".zm-modal-body-title") || form();
		return found ? found.innerText.trim().replace(/\s+/g, " ").slice(0, 120) : "";
	};
	const shown = () => ({
		endDialog: Boolean(visible('[aria-label="Meeting is end now"]')),
		removedDialog: Boolean(visible('[aria-label="You have been removed"]')),
		signIn: Boolean(visible(".root-inner .login-btn")),
		captcha: Boolean(document.querySelector(".root-inner .captcha-error-tip")),
		form: Boolean(form()),
		audioButton: Boolean(visible(".join-audio-by-voip__join-btn")),
		heading: heading(),
	});

	// roster is what the SDK's list says, as far as it gives one.
	const roster = async () => {
		const list = noted.asked && noted.status !== 3 ? await commands.people() : null;
		const own = list && list.find(person => person.self);
		if (!own || own.isHold) return {inMeeting: false};
		return {
			inMeeting: true,
			ownID: String(own.userId),
			unmuted: own.audio === "computer" && own.muted === false,
			people: list.filter(person => !person.self && !person.isHold).map(person => ({
				id: String(person.userId), name: String(person.userName || ""), speaking: events.speaks(String(person.userId)),
			})),
		};
	};

	const {people, ...calls} = commands;
	window.standinZoom = {
		...calls,
		look: async () => ({
			...noted, ...await roster(), shown: shown(),
			disconnectedMs: Math.round(events.disconnectedFor()), isolated: window.crossOriginIsolated,
		}),
	};

	const start = () => {
		if (typeof ZoomMtg !== "object" && typeof ZoomMtg !== "function") throw new Error("the SDK's script defines no ZoomMtg");
		// The SDK tells Zoom the address of the page that it runs in.
		history.replaceState(null, "", "/");
		ZoomMtg.setZoomJSLib(location.origin + library, "/av");
		ZoomMtg.preLoadWasm();
		ZoomMtg.prepareWebSDK();
		ZoomMtg.init({
			leaveUrl: location.origin + left,
			...(service && {webEndpoint: service}),
			// With these two the SDK joins at once, with sound, muted and without
			// camera, and reports errors of joining instead of asking about them.
			disablePreview: true,
			isShowJoiningErrorDialog: false,
			enableWaitingRoomPreview: false,
			leaveOnPageUnload: true, // a closed page leaves no ghost behind
			meetingInfo: ["topic", "host"], // the passcode does not belong in the recording
			disableInvite: true, disableCallOut: true, screenShare: false, disablePictureInPicture: true,
			success: () => { listen(); note({ready: true}); },
			error: error => fail("init", error),
		});
	};
	try {
		start();
	} catch (error) {
		fail("init", error);
	}
})();
