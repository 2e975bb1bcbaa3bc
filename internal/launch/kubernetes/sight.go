package kubernetes

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"standin/internal/launch"
)

// noPod is why a bot starts whose Job has no pod yet.
const noPod = "the cluster has not made a pod for it yet; a quota may be spent, see the events of its Job"

// sightOf is what a Job and its pods show of a bot. A Job has one pod; where
// there are more, the one that runs counts, or the last.
func sightOf(job *batchv1.Job, pods []corev1.Pod) launch.BotStatus {
	var counts *corev1.Pod
	for i := range pods {
		if pod := &pods[i]; counts == nil || pod.Status.Phase == corev1.PodRunning ||
			counts.Status.Phase != corev1.PodRunning && counts.CreationTimestamp.Before(&pod.CreationTimestamp) {
			counts = pod
		}
	}
	if counts != nil {
		return sightOfPod(counts)
	}
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobFailed, batchv1.JobFailureTarget:
			return launch.BotStatus{State: launch.Gone, Reason: said("its Job has failed", condition.Reason, condition.Message)}
		case batchv1.JobComplete:
			return launch.BotStatus{State: launch.Gone, Reason: "its container ended with exit code 0"}
		}
	}
	return launch.BotStatus{State: launch.Starting, Reason: noPod}
}

// said adds the cluster's reason and message to a sentence.
func said(sentence, reason, message string) string {
	if reason != "" {
		sentence += " (" + reason + ")"
	}
	if message = launch.Shorten(message); message != "" {
		sentence += ": " + message
	}
	return sentence
}

// sightOfPod is what a pod shows of its bot.
func sightOfPod(pod *corev1.Pod) launch.BotStatus {
	switch pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed:
		return launch.BotStatus{State: launch.Gone, Reason: whyEnded(pod)}
	case corev1.PodUnknown:
		return launch.BotStatus{State: launch.Unknown, Reason: said("its node "+pod.Spec.NodeName+" is lost", pod.Status.Reason, pod.Status.Message)}
	}
	if pod.Status.Reason == "NodeLost" {
		return launch.BotStatus{State: launch.Unknown, Reason: said("its node "+pod.Spec.NodeName+" is lost", "", pod.Status.Message)}
	}
	container := statusOf(pod)
	switch {
	case container != nil && container.State.Terminated != nil: // the phase comes later
		return launch.BotStatus{State: launch.Gone, Reason: whyEnded(pod)}
	case struck(pod):
		return launch.BotStatus{State: launch.Gone, Reason: whyTaken(pod)}
	case container != nil && container.State.Running != nil:
		return launch.BotStatus{State: launch.Running}
	}
	return launch.BotStatus{State: launch.Starting, Reason: whyStarting(pod, container)}
}

// statusOf is the status of the bot's own container; nil when there is none
// yet.
func statusOf(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == containerName {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// whyStarting is what a pod waits for.
func whyStarting(pod *corev1.Pod, container *corev1.ContainerStatus) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return said("its pod finds no node", condition.Reason, condition.Message)
		}
	}
	if container == nil || container.State.Waiting == nil {
		return "its pod waits to be started"
	}
	waiting := container.State.Waiting
	switch waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError":
		return said("its image cannot be pulled", waiting.Reason, waiting.Message)
	case "ContainerCreating", "PodInitializing":
		return "its container is being made; its image may be being pulled"
	}
	return said("its container cannot be started", waiting.Reason, waiting.Message)
}

// whyEnded is how a pod ended: what the cluster did to it comes first, then
// what its container says, with the end of its log.
func whyEnded(pod *corev1.Pod) string {
	var reasons []string
	if pod.Status.Reason != "" {
		reasons = append(reasons, said("its pod has failed", pod.Status.Reason, pod.Status.Message))
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue {
			reasons = append(reasons, said("the cluster took its pod away", condition.Reason, condition.Message))
		}
	}
	container := statusOf(pod)
	if container == nil || container.State.Terminated == nil {
		if len(reasons) == 0 {
			return "its pod has ended, and its container says nothing"
		}
		return strings.Join(reasons, "; ")
	}
	ended := container.State.Terminated
	switch {
	case ended.Reason == "OOMKilled":
		reasons = append(reasons, "it ran out of memory and was killed"+memoryLimit(pod))
	case ended.Reason != "" && ended.Reason != "Error" && ended.Reason != "Completed":
		reasons = append(reasons, fmt.Sprintf("its container ended with exit code %d (%s)", ended.ExitCode, ended.Reason))
	case ended.Signal != 0:
		reasons = append(reasons, fmt.Sprintf("its container was ended by signal %d", ended.Signal))
	default:
		reasons = append(reasons, fmt.Sprintf("its container ended with exit code %d", ended.ExitCode))
	}
	if tail := launch.LogTail([]byte(ended.Message)); tail != "" && ended.ExitCode != 0 {
		reasons = append(reasons, "its log ends: "+tail)
	}
	return strings.Join(reasons, "; ")
}

// memoryLimit words the limit that a bot's container has.
func memoryLimit(pod *corev1.Pod) string {
	for _, container := range pod.Spec.Containers {
		if limit, ok := container.Resources.Limits[corev1.ResourceMemory]; ok && container.Name == containerName {
			return "; its container may have " + limit.String()
		}
	}
	return ""
}

// whyDeleted is how a bot ended whose pod was deleted while it ran; its Job may
// be known, and say more.
func whyDeleted(pod *corev1.Pod, job *batchv1.Job) string {
	if job != nil {
		if sight := sightOf(job, nil); sight.State == launch.Gone {
			return sight.Reason
		}
	}
	if sight := sightOfPod(pod); sight.State == launch.Gone {
		return sight.Reason
	}
	return whyTaken(pod)
}

// struck reports whether a pod was deleted without waiting for its node. The
// controller of Jobs may keep it on the books for a while.
func struck(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
}

// whyTaken is why a pod was taken away while its bot ran.
func whyTaken(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue {
			return said("the cluster took its pod away", condition.Reason, condition.Message)
		}
	}
	return "its pod was deleted, and not by Standin"
}
