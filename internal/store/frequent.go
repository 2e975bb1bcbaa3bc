package store

// frequentQueries are the statements of requests, bot events, due jobs, webhooks and the
// meetings of calendars, which SQLite prepares once.
var frequentQueries = []string{
	selectJob, selectJobView, selectJobExternal, selectJobForMeeting, insertJob, updateJob, selectTombstone,
	insertEntry, hasEvent, pendingCommands, saveHeartbeat, selectConsumer, selectKeyByHash,
	nextWake, nextJoin, nextDelivery, insertDelivery, selectTakers, selectDueDeliveries,
	deferDelivery, leaseDelivery, applyVerdict, insertTry, addUsage,
	lockConsumer, selectJobByKey, selectOpenJobByMeeting, lastInvite, selectEventKey, selectKey, saveEvent, selectMeetingEvents, settleEvent,
}
