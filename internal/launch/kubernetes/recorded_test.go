package kubernetes_test

// running is the status of a pod whose bot runs.
const running = `{"phase": "Running", "reason": null, "message": null,
	"conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}],
	"containerStatuses": [{"name": "bot", "ready": true, "restartCount": 0, "image": "registry.test/standin:1", "imageID": "",
		"state": {"running": {"startedAt": "2026-11-20T10:00:00Z"}}}]}`

// recorded is a status as kubelet and scheduler write it, and words of the reason
// that the launcher returns for it.
type recorded struct {
	status string
	words  []string
}

// waiting is the status of a pod whose bot's container waits.
func waiting(reason, message string) string {
	return `{"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}],
		"containerStatuses": [{"name": "bot", "ready": false, "restartCount": 0, "image": "registry.test/standin:1", "imageID": "",
			"state": {"waiting": {"reason": "` + reason + `", "message": "` + message + `"}}}]}`
}

// ended is the status of a pod whose bot's container has ended.
func ended(phase, more, terminated string) string {
	return `{"phase": "` + phase + `", ` + more + `
		"containerStatuses": [{"name": "bot", "ready": false, "restartCount": 0, "image": "registry.test/standin:1", "imageID": "",
			"state": {"terminated": ` + terminated + `}}]}`
}

// startingStatuses are statuses of pods that do not run yet.
var startingStatuses = map[string]recorded{
	"no capacity": {
		`{"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
			"message": "0/3 nodes are available: 3 Insufficient memory. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod."}]}`,
		[]string{"cannot be scheduled", "Unschedulable", "3 Insufficient memory"},
	},
	"no such image": {
		waiting("ErrImagePull", `failed to pull and unpack image \"registry.test/standin:1\": failed to resolve reference: registry.test/standin:1: not found`),
		[]string{"image cannot be pulled", "ErrImagePull", "not found"},
	},
	"image back-off": {
		waiting("ImagePullBackOff", `Back-off pulling image \"registry.test/standin:1\"`),
		[]string{"image cannot be pulled", "ImagePullBackOff"},
	},
	"runs as root": {
		waiting("CreateContainerConfigError", `container has runAsNonRoot and image will run as root`),
		[]string{"cannot be started", "CreateContainerConfigError", "runAsNonRoot"},
	},
	"being created": {waiting("ContainerCreating", ""), []string{"being created"}},
}

// endStatuses are statuses of ended pods.
var endStatuses = map[string]recorded{
	"success": {
		ended("Succeeded", "", `{"exitCode": 0, "reason": "Completed", "message": "done"}`),
		[]string{"exit code 0"},
	},
	"failed": {
		ended("Failed", "", `{"exitCode": 1, "reason": "Error", "message": "level=INFO msg=begun\nstandin: open the meeting: no browser\n"}`),
		[]string{"exit code 1", "its log ends: level=INFO msg=begun | standin: open the meeting: no browser"},
	},
	"out of memory": {
		ended("Failed", "", `{"exitCode": 137, "reason": "OOMKilled"}`),
		[]string{"ran out of memory", "2Gi"},
	},
	"start error": {
		ended("Failed", "", `{"exitCode": 128, "reason": "StartError", "message": "failed to create containerd task: exec: \"bot\": executable file not found in $PATH: unknown"}`),
		[]string{"exit code 128 (StartError)", "executable file not found"},
	},
	"evicted": {
		ended("Failed", `"reason": "Evicted", "message": "The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 9Gi.",
			"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "message": "The node was low on resource: ephemeral-storage."}],`,
			`{"exitCode": 137, "reason": "Error"}`),
		[]string{"Evicted", "low on resource: ephemeral-storage", "exit code 137"},
	},
	"evicted before the start": {
		`{"phase": "Failed", "reason": "Evicted", "message": "Pod was rejected: The node had condition: [MemoryPressure]."}`,
		[]string{"Evicted", "MemoryPressure"},
	},
	"spool too large": {
		`{"phase": "Failed", "reason": "Evicted", "message": "Usage of EmptyDir volume \"spool\" exceeds the limit \"8Gi\"."}`,
		[]string{"Evicted", `EmptyDir volume "spool" exceeds the limit`},
	},
	"preempted": {
		ended("Failed", `"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "default-scheduler: preempting to accommodate a higher priority pod"}],`,
			`{"exitCode": 143, "reason": "Error"}`),
		[]string{"the cluster removed its pod (PreemptionByScheduler)", "exit code 143"},
	},
	"shut down with its node": {
		`{"phase": "Failed", "reason": "Terminated", "message": "Pod was terminated in response to imminent node shutdown."}`,
		[]string{"imminent node shutdown"},
	},
}
