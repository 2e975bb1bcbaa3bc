package kubernetes

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"standin/internal/launch"
)

// waitsToStart is the reason of a bot whose node has not been heard of yet.
const waitsToStart = "its pod waits to be started"

// gone returns the status of a bot that has ended.
func gone(reason string) launch.BotStatus {
	return launch.BotStatus{State: launch.Gone, Reason: reason}
}

// podStatus returns the status of a bot from its pod.
func podStatus(pod *corev1.Pod) launch.BotStatus {
	switch pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed:
		return gone(exitReason(pod))
	case corev1.PodUnknown:
		return launch.BotStatus{
			State: launch.Unknown, Reason: explain("its node "+pod.Spec.NodeName+" is lost", pod.Status.Reason, pod.Status.Message),
		}
	}
	if pod.Status.Reason == "NodeLost" {
		return launch.BotStatus{State: launch.Unknown, Reason: explain("its node "+pod.Spec.NodeName+" is lost", "", pod.Status.Message)}
	}
	container := botContainer(pod)
	switch {
	case container != nil && container.State.Terminated != nil: // the phase changes later
		return gone(exitReason(pod))
	case container != nil && container.State.Running != nil:
		return launch.BotStatus{State: launch.Running}
	}
	return launch.BotStatus{State: launch.Starting, Reason: startingReason(pod, container)}
}

// startingReason explains why a bot's container does not run yet. container may
// be nil.
func startingReason(pod *corev1.Pod, container *corev1.ContainerStatus) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return explain("its pod cannot be scheduled", condition.Reason, condition.Message)
		}
	}
	if container == nil || container.State.Waiting == nil {
		return waitsToStart
	}
	waiting := container.State.Waiting
	switch waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError":
		return explain("its image cannot be pulled", waiting.Reason, waiting.Message)
	case "ContainerCreating", "PodInitializing":
		return "its container is being created; its image may be being pulled"
	}
	return explain("its container cannot be started", waiting.Reason, waiting.Message)
}

// exitReason explains how a pod ended: first the cluster's part in it, then its
// container's exit and the end of its log.
func exitReason(pod *corev1.Pod) string {
	var reasons []string
	if pod.Status.Reason != "" {
		reasons = append(reasons, explain("its pod has failed", pod.Status.Reason, pod.Status.Message))
	}
	if disruption := disruption(pod); disruption != "" {
		reasons = append(reasons, disruption)
	}
	container := botContainer(pod)
	if container == nil || container.State.Terminated == nil {
		if len(reasons) == 0 {
			return "its pod has ended without a status of its container"
		}
		return strings.Join(reasons, "; ")
	}
	exit := container.State.Terminated
	switch {
	case exit.Reason == "OOMKilled":
		reasons = append(reasons, "it ran out of memory and was killed")
		for _, container := range pod.Spec.Containers {
			if limit, ok := container.Resources.Limits[corev1.ResourceMemory]; ok && container.Name == containerName {
				reasons = append(reasons, "its container may use "+limit.String())
			}
		}
	case exit.Reason != "" && exit.Reason != "Error" && exit.Reason != "Completed":
		reasons = append(reasons, fmt.Sprintf("its container ended with exit code %d (%s)", exit.ExitCode, exit.Reason))
	case exit.Signal != 0:
		reasons = append(reasons, fmt.Sprintf("its container was ended by signal %d", exit.Signal))
	default:
		reasons = append(reasons, fmt.Sprintf("its container ended with exit code %d", exit.ExitCode))
	}
	if tail := launch.LogTail([]byte(exit.Message)); tail != "" && exit.ExitCode != 0 {
		reasons = append(reasons, "its log ends: "+tail)
	}
	return strings.Join(reasons, "; ")
}

// disruption describes an eviction or preemption of a pod; "" when there was
// none.
func disruption(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue {
			return explain("the cluster removed its pod", condition.Reason, condition.Message)
		}
	}
	return ""
}

// botContainer returns the status of the bot's container, or nil.
func botContainer(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == containerName {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// explain adds the cluster's reason and message to a sentence.
func explain(sentence, reason, message string) string {
	if reason != "" {
		sentence += " (" + reason + ")"
	}
	if message = launch.Shorten(message); message != "" {
		sentence += ": " + message
	}
	return sentence
}
