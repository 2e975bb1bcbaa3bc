// What the SDK tells of the meeting, noted as it comes. Nothing is decided
// here: the bot's own code tells what it means.
//
// Data that the type definitions do not describe was read in version 6.2.0:
// they call the meeting's status "status", the code calls it "meetingStatus".
window.standinZoomEvents = (() => {
	"use strict";
	const kept = "standin.zoomsdk"; // read by the page after the meeting
	const mostMessages = 200;
	const noted = {
		ready: false,       // the SDK has started
		asked: false,       // it was told to join
		status: 0,          // 1 connecting, 2 connected, 3 disconnected, 4 reconnecting
		waiting: false,     // in the waiting room
		hostAbsent: false,  // the meeting has not started
		trouble: null,      // {during, code, text}: a call that failed for good
		end: null,          // {code}: why the SDK left, by its own list
		permission: "",     // to record: granted or refused
		recorded: false,    // Zoom says that the meeting is being recorded
		chat: [],
	};
	let disconnectedAt = 0;
	const heard = new Map(); // user → when last told to be speaking

	// The SDK leaves the page at some endings, so that all that matters then is
	// kept across it.
	const keep = () => localStorage.setItem(kept, JSON.stringify({...noted, chat: []}));
	const note = changes => { Object.assign(noted, changes); keep(); };

	const fail = (during, error) => {
		const text = error && (error.errorMessage || error.result || error.reason || error.message) || error || "";
		note({trouble: {
			during,
			code: error && Number(error.errorCode) || 0,
			text: (typeof text === "string" ? text : JSON.stringify(text)).slice(0, 300),
		}});
	};

	// The first reason that says something is the reason: dialogs that are closed
	// after an end tell another one.
	const end = data => {
		if (!data || data.userId && data.reasonCode === undefined) return; // somebody else left
		const code = Number(data.reasonCode) || 0;
		if (!noted.end || noted.end.code === 0) note({end: {code}});
	};

	const onStatus = data => {
		const status = Number(data && (data.meetingStatus ?? data.status)) || 0;
		disconnectedAt = status === 3 ? disconnectedAt || performance.now() : 0;
		note({status, ...(status === 2 && {hostAbsent: false})});
		if (status === 3 && data.detail && data.detail.errorCode) fail("join", data.detail);
	};

	const onChat = data => {
		const content = data && data.content;
		if (!content || typeof content.text !== "string" || !content.text) return;
		noted.chat.push({
			id: String(content.messageId || noted.chat.length), text: content.text.slice(0, 4096),
			author: String(data.sender || ""), authorID: String(data.senderId || ""),
		});
		noted.chat.splice(0, noted.chat.length - mostMessages);
	};

	const onJoinSpeed = data => {
		switch (data && data.level) {
		case 4: note({hostAbsent: true}); break;
		case 5: note({hostAbsent: false}); break;
		case 6: note({waiting: true}); break;
		case 7: note({waiting: false}); break;
		}
	};

	// listen asks the SDK for its events. Each is asked for by itself, so that
	// one that a version does not have costs no other.
	const listen = () => {
		const listeners = {
			onMeetingStatus: onStatus,
			onUserIsInWaitingRoom: data => { if (data && data.self !== false) note({waiting: Boolean(data.isInWaitingRoom)}); },
			onUserLeave: end,
			onWaitingPannel: data => note({hostAbsent: Boolean(data && data.waiting && !data.canJoin)}),
			onJoinSpeed,
			onActiveSpeaker: data => { for (const user of data || []) heard.set(String(user.userId), performance.now()); },
			onMediaCapturePermissionChange: data => note({permission: data && data.allow ? "granted" : "refused"}),
			onRecordingChange: data => note({recorded: Boolean(data && data.recording === "recording")}),
			onReceiveChatMsg: onChat,
		};
		for (const [event, listener] of Object.entries(listeners)) {
			try {
				ZoomMtg.inMeetingServiceListener(event, data => { try { listener(data); } catch (error) { console.error(event, error); } });
			} catch (error) {
				console.error(event, error);
			}
		}
		// When Zoom cannot be reached the call fails with the code that says
		// nothing. This event, which is not among the documented ones, says more.
		const root = document.getElementById("zmmtg-root");
		if (root) root.addEventListener("joinMeetingFail", ({detail}) => {
			if (detail && detail.errorCode === -3000 && noted.trouble && noted.trouble.code === 1) fail("join", detail);
		});
	};

	keep(); // what an earlier visit noted is over
	return {
		noted, note, fail, listen,
		disconnectedFor: () => disconnectedAt && performance.now() - disconnectedAt,
		// Nobody tells when a speaker stops: each event counts for a moment.
		speaks: id => performance.now() - (heard.get(id) ?? -Infinity) < 1500,
	};
})();
