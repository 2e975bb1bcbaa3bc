package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"standin/internal/base/retry"
	"standin/internal/launch"
)

// Launch implements launch.Launcher. Afterwards the bot is Starting: the cluster
// may have to schedule its pod and pull its image. If the attempt already has a
// Job, that Job is used.
func (l *Launcher) Launch(ctx context.Context, a launch.Assignment) error {
	ctx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	key := a.Key()
	deadline := extraDeadline + time.Duration(a.AutoLeave.AfterEntryDelaySeconds+a.AutoLeave.AfterMaxSeconds)*time.Second
	// One pod, without retries, suspended until its Secret exists.
	job, err := l.jobs().Create(ctx, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: l.Name(key), Labels: l.labels(key)},
		Spec: batchv1.JobSpec{
			Suspend: new(true), Parallelism: new(int32(1)), Completions: new(int32(1)), BackoffLimit: new(int32(0)),
			PodReplacementPolicy:    new(batchv1.Failed),
			TTLSecondsAfterFinished: new(int32(time.Hour / time.Second)), ActiveDeadlineSeconds: new(int64(deadline / time.Second)),
			Template: l.podTemplate(key, l.Name(key)+"-"+uuid.NewString()[:8]),
		},
	}, strict)
	if apierrors.IsAlreadyExists(err) {
		if job, err = l.jobs().Get(ctx, l.Name(key), metav1.GetOptions{}); err != nil {
			return clusterError("get the attempt's earlier Job", err)
		}
		owner, ours := l.ParseLabels(job.Labels)
		switch {
		case !ours || owner != key:
			return fmt.Errorf("a Job that is not a bot of this service has the name %s; remove it", job.Name)
		case job.DeletionTimestamp != nil:
			return errors.New("the cluster is removing an earlier Job of this attempt")
		case !isSuspended(job):
			pods, err := l.pods().List(ctx, metav1.ListOptions{LabelSelector: l.labels(key).String()})
			if err != nil {
				return clusterError("list the pods of the attempt's earlier Job", err)
			}
			l.Launching(key)
			l.Update(key, botStatus(job, pods.Items))
			return nil
		}
	}
	if err != nil {
		// If the cluster created the Job and its answer was lost, the Job is
		// suspended and the next launch uses it.
		return clusterError("create the bot's Job", err)
	}
	// From here on, the Job is removed on error.
	l.Launching(key)
	config, err := launch.NewBotConfig(a, l.Bot, spoolDir).Encode()
	if err != nil {
		return l.Discard(ctx, key, err)
	}
	name := "" // of the Secret that the Job's pod mounts
	for _, volume := range job.Spec.Template.Spec.Volumes {
		if volume.Name == configVolume && volume.Secret != nil {
			name = volume.Secret.SecretName
		}
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: job.Labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job", Name: job.Name, UID: job.UID}},
		},
		Immutable: new(true),
		Data:      map[string][]byte{launch.ConfigFile: config},
	}
	_, err = l.cluster.CoreV1().Secrets(l.Namespace).Create(ctx, secret, strict)
	if err != nil && !apierrors.IsAlreadyExists(err) { // the name is unique to this Job
		return l.Discard(ctx, key, clusterError("create the Secret with the bot's configuration", err))
	}
	l.Update(key, launch.BotStatus{State: launch.Starting, Reason: noPod}) // before the watcher reports a later state
	_, err = l.jobs().Patch(ctx, job.Name, types.MergePatchType, []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{})
	if err != nil {
		return l.Discard(ctx, key, clusterError("resume the bot's Job", err))
	}
	return nil
}

// isSuspended reports whether a Job waits for its Secret.
func isSuspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

// engine implements launch.Engine.
type engine struct{ *Launcher }

// Remove implements launch.Engine. It deletes the Job first, so that no further
// pod is created, then its pods, and waits until none of them runs. The bot
// leaves its meeting, or is killed after LeaveTime. A pod whose node does not
// report its end within LostAfter is deleted by force.
func (e engine) Remove(ctx context.Context, key launch.Key) error {
	ctx, cancel := context.WithTimeout(ctx, e.LeaveTime+launch.CallTimeout)
	defer cancel()
	background := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)} // also deletes the Job's Secret
	err := e.jobs().Delete(ctx, e.Name(key), background)
	if err != nil && !apierrors.IsNotFound(err) {
		return clusterError("delete the bot's Job", err)
	}
	backoff := retry.Backoff{Min: 100 * time.Millisecond, Max: time.Second}
	for {
		pods, err := e.pods().List(ctx, metav1.ListOptions{LabelSelector: e.labels(key).String()})
		if err != nil {
			return clusterError("list the bot's pods", err)
		}
		var running *corev1.Pod
		for i := range pods.Items {
			pod := &pods.Items[i]
			if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
				continue // deleted with the Job
			}
			running = pod
			grace := int64(e.LeaveTime / time.Second)
			if deleted := pod.DeletionTimestamp; deleted != nil { // the end of its grace period
				if e.Now().Sub(deleted.Time) < e.LostAfter {
					continue
				}
				// Its node is lost. A bot that still runs there is told to leave as soon as it reaches the service.
				e.Log.Warn("force-deleting a bot's pod: its node does not report that it ended", "pod", pod.Name, "node", pod.Spec.NodeName)
				grace = 0
			}
			err := e.pods().Delete(ctx, pod.Name,
				metav1.DeleteOptions{GracePeriodSeconds: &grace, Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return clusterError("delete the bot's pod", err)
			}
		}
		if running == nil {
			return nil
		}
		if retry.Sleep(ctx, backoff.Next()) != nil {
			return fmt.Errorf("the bot's pod %s has not ended in time: its node %s does not report its end", running.Name, running.Spec.NodeName)
		}
	}
}
