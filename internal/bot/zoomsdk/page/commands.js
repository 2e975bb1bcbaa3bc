// What the bot asks of the SDK, each as a promise of {ok, code, text, result}.
window.standinZoomCommands = (() => {
	"use strict";
	const {noted, note, fail} = window.standinZoomEvents;
	const joinAgainTime = 15e3; // the SDK takes a join every ten seconds
	const callTime = 5e3;

	// What the SDK says when it need not or may not ask. It gives these outcomes
	// no code, so that its words are all there is.
	const alreadyGranted = "you already have local record permission";
	const deniesAll = "host deny all request";

	// call makes one call and waits for one of its callbacks.
	const call = (name, args, time = callTime) => new Promise(resolve => {
		const timer = setTimeout(() => resolve({ok: false, code: 0, text: "the SDK did not answer"}), time);
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

	// people returns the others, and whether the bot itself is among those in the
	// meeting. While the bot waits outside the SDK answers with a sentence.
	const people = async () => {
		const answer = await call("getAttendeeslist", {}, 500);
		const list = answer.ok && answer.result && answer.result.attendeesList;
		return Array.isArray(list) ? list : null;
	};

	const ticketAddress = location.pathname + "ticket"; // the page's path is hidden later
	const getTicket = async () => {
		const answer = await fetch(ticketAddress, {method: "POST", headers: {"Content-Type": "application/json"}, body: "{}"});
		if (!answer.ok) throw new Error("the bot gives no ticket: " + answer.status);
		return answer.json();
	};

	// attempt joins with a fresh ticket. A meeting that has not started is tried
	// again, for this page tells nothing of its start.
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
			success: () => note({hostAbsent: false}),
			error: error => {
				if (error && absent.includes(Number(error.errorCode))) {
					note({hostAbsent: true, status: 0});
					setTimeout(() => attempt(name), joinAgainTime);
				} else {
					fail("join", error);
				}
			},
		});
	};

	return {
		people,
		join: async name => {
			if (!noted.asked) {
				note({asked: true});
				attempt(name);
			}
			return {ok: true};
		},
		// Until the SDK has confirmed the end it stays on this page, and then goes
		// to the one after the meeting. Before the meeting's server knows of the
		// bot there is nothing to confirm.
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
			note({permission: ""});
			const answer = await call("mediaCapturePermission", {operate: "request"});
			if (answer.text === alreadyGranted) note({permission: "granted"});
			else if (answer.text === deniesAll) note({permission: "refused"});
			else return answer;
			return {ok: true};
		},
	};
})();
