// Records the SDK's events. The bot's Go code interprets them.
//
// Data that the type definitions do not describe comes from the code of version
// 6.2.0: the definitions call the meeting's status "status", the code calls it
// "meetingStatus".
window.standinZoomEvents = (() => {
	"use strict";
	const storageKey = "standin.zoomsdk"; // read by the page after the meeting
	const maxMessages = 200;
	const state = {
		ready: false,       // the SDK has started
		joining: false,     // join was called
		status: 0,          // 1 connecting, 2 connected, 3 disconnected, 4 reconnecting
		waiting: false,     // in the waiting room
		hostAbsent: false,  // the meeting has not started
		failure: null,      // {during, code, text}: a call that failed permanently
		end: null,          // {code}: the SDK's reason for leaving
		permission: "",     // to record: granted or refused
		chat: [],
	};
	let disconnectedAt = 0;
	const spokeAt = new Map(); // user → time of the last active-speaker event

	// The SDK leaves the page at some ends, so the state is stored for the next
	// page.
	const store = () => localStorage.setItem(storageKey, JSON.stringify({...state, chat: []}));
	const update = changes => { Object.assign(state, changes); store(); };

	const fail = (during, error) => {
		const text = error && (error.errorMessage || error.result || error.reason || error.message) || error || "";
		update({failure: {
			during,
			code: error && Number(error.errorCode) || 0,
			text: (typeof text === "string" ? text : JSON.stringify(text)).slice(0, 300),
		}});
	};

	// The first specific reason counts: closing a dialog after an end reports
	// another one.
	const end = data => {
		if (!data || data.userId && data.reasonCode === undefined) return; // somebody else left
		const code = Number(data.reasonCode) || 0;
		if (!state.end || state.end.code === 0) update({end: {code}});
	};

	const onStatus = data => {
		const status = Number(data && (data.meetingStatus ?? data.status)) || 0;
		disconnectedAt = status === 3 ? disconnectedAt || performance.now() : 0;
		update({status, ...(status === 2 && {hostAbsent: false})});
		if (status === 3 && data.detail && data.detail.errorCode) fail("join", data.detail);
	};

	const onChat = data => {
		const content = data && data.content;
		if (!content || typeof content.text !== "string" || !content.text) return;
		state.chat.push({
			id: String(content.messageId || state.chat.length), text: content.text.slice(0, 4096),
			author: String(data.sender || ""), authorID: String(data.senderId || ""),
		});
		state.chat.splice(0, state.chat.length - maxMessages);
	};

	const onJoinSpeed = data => {
		switch (data && data.level) {
		case 4: update({hostAbsent: true}); break;
		case 5: update({hostAbsent: false}); break;
		case 6: update({waiting: true}); break;
		case 7: update({waiting: false}); break;
		}
	};

	// listen subscribes to the SDK's events, each separately, so that an event that
	// a version lacks does not affect the others.
	const listen = () => {
		const listeners = {
			onMeetingStatus: onStatus,
			onUserIsInWaitingRoom: data => { if (data && data.self !== false) update({waiting: Boolean(data.isInWaitingRoom)}); },
			onUserLeave: end,
			onWaitingPannel: data => update({hostAbsent: Boolean(data && data.waiting && !data.canJoin)}),
			onJoinSpeed,
			onActiveSpeaker: data => { for (const user of data || []) spokeAt.set(String(user.userId), performance.now()); },
			onMediaCapturePermissionChange: data => update({permission: data && data.allow ? "granted" : "refused"}),
			onReceiveChatMsg: onChat,
		};
		for (const [event, listener] of Object.entries(listeners)) {
			try {
				ZoomMtg.inMeetingServiceListener(event, data => { try { listener(data); } catch (error) { console.error(event, error); } });
			} catch (error) {
				console.error(event, error);
			}
		}
		// When Zoom is not reachable, the call fails with an unspecific code. This
		// undocumented event is more specific.
		const root = document.getElementById("zmmtg-root");
		if (root) root.addEventListener("joinMeetingFail", ({detail}) => {
			if (detail && detail.errorCode === -3000 && state.failure && state.failure.code === 1) fail("join", detail);
		});
	};

	store(); // replaces the state of an earlier visit
	return {
		state, update, fail, listen,
		disconnectedFor: () => disconnectedAt && performance.now() - disconnectedAt,
		// No event says when a speaker stops, so each event counts for 1.5 s.
		isSpeaking: id => performance.now() - (spokeAt.get(id) ?? -Infinity) < 1500,
	};
})();
