package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"standin/internal/base/retry"
	"standin/internal/launch"
)

// Launch implements launch.Launcher. Afterwards the bot is Starting: the cluster
// may have to schedule its pod and pull its image. If the attempt already has a
// pod, that pod is used.
func (l *Launcher) Launch(ctx context.Context, a launch.Assignment) error {
	ctx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	key := a.Key()
	pod := l.newPod(a, l.Name(key)+"-"+uuid.NewString()[:8])
	created, err := l.pods().Create(ctx, pod, strict)
	if apierrors.IsAlreadyExists(err) {
		created, err = l.find(ctx, key)
		switch {
		case err != nil:
			return err
		case created == nil:
			return fmt.Errorf("a pod that is not a bot of this service has the name %s; remove it", pod.Name)
		case created.DeletionTimestamp != nil:
			return errors.New("the cluster is removing an earlier pod of this attempt")
		case !isGated(created):
			l.Launching(key)
			l.Update(key, podStatus(created))
			return nil
		}
	}
	if err != nil {
		// If the cluster created the pod and its answer was lost, the pod is gated and the next launch uses it.
		return clusterError("create the bot's pod", err)
	}
	// From here on, the pod is removed on error.
	l.Launching(key)
	config, err := launch.NewBotConfig(a, l.Bot, spoolDir).Encode()
	if err != nil {
		return l.Discard(ctx, key, err)
	}
	name := "" // of the Secret that the pod mounts
	for _, volume := range created.Spec.Volumes {
		if volume.Name == configVolume && volume.Secret != nil {
			name = volume.Secret.SecretName
		}
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: l.labels(key),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: created.Name, UID: created.UID}},
		},
		Immutable: new(true),
		Data:      map[string][]byte{launch.ConfigFile: config},
	}
	_, err = l.cluster.CoreV1().Secrets(l.Namespace).Create(ctx, secret, strict)
	if err != nil && !apierrors.IsAlreadyExists(err) { // the name is unique to this pod
		return l.Discard(ctx, key, clusterError("create the Secret with the bot's configuration", err))
	}
	l.Update(key, launch.BotStatus{State: launch.Starting, Reason: waitsToStart}) // before the watcher reports a later state
	_, err = l.pods().Patch(ctx, created.Name, types.MergePatchType, []byte(`{"spec":{"schedulingGates":null}}`), metav1.PatchOptions{})
	if err != nil {
		return l.Discard(ctx, key, clusterError("let the bot's pod be scheduled", err))
	}
	return nil
}

// isGated reports whether a pod waits for its Secret.
func isGated(pod *corev1.Pod) bool { return len(pod.Spec.SchedulingGates) > 0 }

// find returns the pod of an attempt, or nil.
func (l *Launcher) find(ctx context.Context, key launch.Key) (*corev1.Pod, error) {
	found, err := l.pods().List(ctx, metav1.ListOptions{LabelSelector: l.labels(key).String()})
	if err != nil {
		return nil, clusterError("find the bot's pod", err)
	}
	if len(found.Items) == 0 {
		return nil, nil
	}
	return &found.Items[0], nil
}

// engine implements launch.Engine.
type engine struct{ *Launcher }

// Remove implements launch.Engine. The bot leaves its meeting, or is killed after
// LeaveTime. A pod whose node does not report its end within LostAfter is deleted
// by force. The pod's Secret is deleted with it.
func (e engine) Remove(ctx context.Context, key launch.Key) error {
	ctx, cancel := context.WithTimeout(ctx, e.LeaveTime+launch.CallTimeout)
	defer cancel()
	backoff := retry.Backoff{Min: 100 * time.Millisecond, Max: time.Second}
	for {
		pod, err := e.find(ctx, key)
		if pod == nil {
			return err
		}
		deleted := pod.DeletionTimestamp // the end of its grace period
		lost := deleted != nil && e.Now().Sub(deleted.Time) >= e.LostAfter
		if deleted == nil || lost {
			grace := int64(e.LeaveTime / time.Second)
			if lost { // a bot that still runs there is told to leave as soon as it reaches the service
				e.Log.Warn("force-deleting a bot's pod: its node does not report that it ended", "pod", pod.Name, "node", pod.Spec.NodeName)
				grace = 0
			}
			err := e.pods().Delete(ctx, pod.Name,
				metav1.DeleteOptions{GracePeriodSeconds: &grace, Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return clusterError("delete the bot's pod", err)
			}
		}
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			return nil
		}
		if retry.Sleep(ctx, backoff.Next()) != nil {
			return fmt.Errorf("the bot's pod %s has not ended in time: its node %s does not report its end", pod.Name, pod.Spec.NodeName)
		}
	}
}
