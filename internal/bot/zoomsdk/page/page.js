// Starts the SDK and defines the bot's interface to it: window.standinZoom.
(() => {
	"use strict";
	const events = window.standinZoomEvents, commands = window.standinZoomCommands;
	const {state, update, fail, listen} = events;
	const {library, left, service} = document.body.dataset;

	// What the page shows that the SDK's interface does not report. The dialogs have
	// labels that do not depend on the viewer's language.
	const visible = selector => [...document.querySelectorAll(selector)].find(element => {
		const box = element.getBoundingClientRect();
		return box.width > 0 && box.height > 0;
	});
	// Before a meeting the SDK shows its forms in one element. The panel that waits
	// for the meeting's start and progress indicators require no input.
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

	// roster returns the SDK's list of participants, if it gives one.
	const roster = async () => {
		const list = state.joining && state.status !== 3 ? await commands.people() : null;
		const own = list && list.find(person => person.self);
		if (!own || own.isHold) return {inMeeting: false};
		return {
			inMeeting: true,
			ownID: String(own.userId),
			unmuted: own.audio === "computer" && own.muted === false,
			people: list.filter(person => !person.self && !person.isHold).map(person => ({
				id: String(person.userId), name: String(person.userName || ""), speaking: events.isSpeaking(String(person.userId)),
			})),
		};
	};

	const {people, ...calls} = commands;
	window.standinZoom = {
		...calls,
		report: async () => ({
			...state, ...await roster(), shown: shown(),
			disconnectedMs: Math.round(events.disconnectedFor()),
		}),
	};

	const start = () => {
		if (typeof ZoomMtg !== "object" && typeof ZoomMtg !== "function") throw new Error("the SDK's script defines no ZoomMtg");
		// The SDK sends Zoom the URL of the page that it runs in.
		history.replaceState(null, "", "/");
		ZoomMtg.setZoomJSLib(location.origin + library, "/av");
		ZoomMtg.preLoadWasm();
		ZoomMtg.prepareWebSDK();
		ZoomMtg.init({
			leaveUrl: location.origin + left,
			...(service && {webEndpoint: service}),
			// With these two the SDK joins at once, with sound, muted and without
			// camera, and reports errors of joining instead of showing a dialog.
			disablePreview: true,
			isShowJoiningErrorDialog: false,
			enableWaitingRoomPreview: false,
			leaveOnPageUnload: true, // so that a closed page leaves no tile behind
			meetingInfo: ["topic", "host"], // keeps the passcode out of the recording
			disableInvite: true, disableCallOut: true, screenShare: false, disablePictureInPicture: true,
			success: () => { listen(); update({ready: true}); },
			error: error => fail("init", error),
		});
	};
	try {
		start();
	} catch (error) {
		fail("init", error);
	}
})();
