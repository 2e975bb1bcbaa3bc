// The bot's calls of the SDK. Each returns a promise of {ok, code, text, result}.
window.standinZoomCommands = (() => {
	"use strict";
	const {state, update, fail} = window.standinZoomEvents;
	const rejoinInterval = 15e3; // the SDK accepts a join every ten seconds
	const callTimeout = 5e3;

	// The SDK's messages when permission was granted before, or when the host denies
	// all requests. The SDK gives these outcomes no code.
	const alreadyGranted = "you already have local record permission";
	const allDenied = "host deny all request";

	// call calls a method of the SDK and waits for one of its callbacks.
	const call = (name, args, timeout = callTimeout) => new Promise(resolve => {
		const timer = setTimeout(() => resolve({ok: false, code: 0, text: "the SDK did not answer"}), timeout);
		const settle = answer => { clearTimeout(timer); resolve(answer); };
		try {
			ZoomMtg[name]({
				...args,
				success: answer => settle({ok: true, result: answer && answer.result}),
				error: answer => settle({
					ok: false, code: Number(answer && answer.errorCode) || 0,
					text: String(answer && (answer.errorMessage || answer.result) || "no reason given").slice(0, 300),
				}),
			});
		} catch (error) {
			settle({ok: false, code: 0, text: String(error)});
		}
	});

	// people returns the participants, the bot included, or null. While the bot
	// waits outside, the SDK answers with a sentence instead of a list.
	const people = async () => {
		const answer = await call("getAttendeeslist", {}, 500);
		const list = answer.ok && answer.result && answer.result.attendeesList;
		return Array.isArray(list) ? list : null;
	};

	const ticketURL = location.pathname + "ticket"; // the page's path is replaced later
	const getTicket = async () => {
		const answer = await fetch(ticketURL, {method: "POST", headers: {"Content-Type": "application/json"}, body: "{}"});
		if (!answer.ok) throw new Error("the bot issued no ticket: " + answer.status);
		return answer.json();
	};

	// attempt joins with a fresh ticket. It retries while the meeting has not
	// started, because the SDK does not report the start.
	const attempt = async name => {
		let ticket;
		try {
			ticket = await getTicket();
		} catch (error) {
			fail("ticket", error);
			return;
		}
		const absent = [3008, 3000]; // not started; the host is in another meeting
		ZoomMtg.join({
			meetingNumber: ticket.meetingNumber, passWord: ticket.passcode, signature: ticket.signature, userName: name,
			...(ticket.token && {tk: ticket.token}),
			success: () => update({hostAbsent: false}),
			error: error => {
				if (error && absent.includes(Number(error.errorCode))) {
					update({hostAbsent: true, status: 0});
					setTimeout(() => attempt(name), rejoinInterval);
				} else {
					fail("join", error);
				}
			},
		});
	};

	return {
		people,
		join: async name => {
			if (!state.joining) {
				update({joining: true});
				attempt(name);
			}
			return {ok: true};
		},
		// The SDK opens the page after the meeting when Zoom has confirmed the end.
		// Before the bot has joined there is nothing to confirm.
		leave: async () => {
			const answer = await call("leaveMeeting", {confirm: false});
			if (!answer.ok) location.replace(document.body.dataset.left);
			return {ok: true};
		},
		chat: text => call("sendChat", {message: text}),
		pin: async id => {
			const replaced = await call("operatePin", {operate: "replace", userId: Number(id)});
			return replaced.ok ? replaced : call("operatePin", {operate: "add", userId: Number(id)});
		},
		mute: async () => {
			const own = (await people() || []).find(person => person.self);
			return own ? call("mute", {userId: own.userId, mute: true}) : {ok: false, code: 0, text: "not in the meeting"};
		},
		askPermission: async () => {
			update({permission: ""});
			const answer = await call("mediaCapturePermission", {operate: "request"});
			if (answer.text === alreadyGranted) update({permission: "granted"});
			else if (answer.text === allDenied) update({permission: "refused"});
			else return answer;
			return {ok: true};
		},
	};
})();
