package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"standin/internal/launch"
	"standin/internal/retry"
)

// Launch implements launch.Launcher. Afterwards the bot is Starting: the cluster
// may have to schedule its pod and pull its image. If the attempt already has a
// Job, that Job is used.
func (l *Launcher) Launch(ctx context.Context, a launch.Assignment) error {
	ctx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	job, err := l.cluster.jobs.Create(ctx, l.job(a), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return l.adopt(ctx, a)
	}
	if err != nil {
		// If the cluster created the Job and its answer was lost, the Job is
		// suspended and the next launch adopts it.
		return clusterError("create the bot's Job", err)
	}
	return l.resume(ctx, job, a)
}

// adopt uses the Job that an attempt already has.
func (l *Launcher) adopt(ctx context.Context, a launch.Assignment) error {
	key := launch.Key{JobID: a.JobID, Attempt: a.Attempt}
	job, err := l.cluster.jobs.Get(ctx, l.settings.Name(key), metav1.GetOptions{})
	if err != nil {
		return clusterError("get the attempt's earlier Job", err)
	}
	owner, ours := l.parseLabels(job.Labels)
	switch {
	case !ours || owner != key:
		return fmt.Errorf("a Job that is not a bot of this service has the name %s; remove it", job.Name)
	case job.DeletionTimestamp != nil:
		return errors.New("the cluster is removing an earlier Job of this attempt")
	case suspended(job):
		return l.resume(ctx, job, a)
	}
	pods, err := l.cluster.pods.List(ctx, withLabels(l.labels(key)))
	if err != nil {
		return clusterError("list the pods of the attempt's earlier Job", err)
	}
	l.Launching(key)
	l.Update(key, botStatus(job, pods.Items))
	return nil
}

// suspended reports whether a Job has not been resumed yet.
func suspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

// resume creates the Secret of a suspended Job and resumes the Job. On error
// the Job is removed.
func (l *Launcher) resume(ctx context.Context, job *batchv1.Job, a launch.Assignment) error {
	key := launch.Key{JobID: a.JobID, Attempt: a.Attempt}
	l.Launching(key)
	config, err := launch.NewBotConfig(a, l.settings.Bot, spoolDir).Encode()
	if err != nil {
		return l.Discard(ctx, key, err)
	}
	_, err = l.cluster.secrets.Create(ctx, newSecret(job, config), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) { // the name is unique to this Job
		return l.Discard(ctx, key, clusterError("create the Secret with the bot's configuration", err))
	}
	l.Update(key, launch.BotStatus{State: launch.Starting, Reason: noPod}) // before the watcher reports a later state
	_, err = l.cluster.jobs.Patch(ctx, job.Name, types.MergePatchType, []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{})
	if err != nil {
		return l.Discard(ctx, key, clusterError("resume the bot's Job", err))
	}
	return nil
}

// engine implements launch.Engine.
type engine struct{ *Launcher }

// Remove implements launch.Engine. It deletes the Job first, so that no further
// pod is created, then its pods, and waits until none of them runs. The bot
// leaves its meeting, or is killed after LeaveTime.
func (e engine) Remove(ctx context.Context, key launch.Key) error {
	ctx, cancel := context.WithTimeout(ctx, e.settings.LeaveTime+launch.CallTimeout)
	defer cancel()
	background := metav1.DeletePropagationBackground // also deletes the Job's Secret
	err := e.cluster.jobs.Delete(ctx, e.settings.Name(key), metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil && !apierrors.IsNotFound(err) {
		return clusterError("delete the bot's Job", err)
	}
	backoff := retry.Backoff{Min: 100 * time.Millisecond, Max: time.Second}
	for {
		pods, err := e.cluster.pods.List(ctx, withLabels(e.labels(key)))
		if err != nil {
			return clusterError("list the bot's pods", err)
		}
		running := 0
		for i := range pods.Items {
			if phase := pods.Items[i].Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
				continue // deleted with the Job
			}
			running++
			if err := e.deletePod(ctx, &pods.Items[i]); err != nil {
				return err
			}
		}
		if running == 0 {
			return nil
		}
		if retry.Sleep(ctx, backoff.Next()) != nil {
			return fmt.Errorf("the bot's pod %s has not ended in time: its node %s does not report its end",
				pods.Items[0].Name, pods.Items[0].Spec.NodeName)
		}
	}
}

// deletePod deletes a pod. When its node does not report the pod's end within
// LostAfter, the node is lost and the pod is deleted by force. A bot that still
// runs there is told to leave as soon as it reaches the service.
func (l *Launcher) deletePod(ctx context.Context, pod *corev1.Pod) error {
	grace := int64(l.settings.LeaveTime / time.Second)
	if pod.DeletionTimestamp != nil { // the end of its grace period
		if l.settings.Now().Sub(pod.DeletionTimestamp.Time) < l.settings.LostAfter {
			return nil
		}
		l.settings.Log.Warn("deleting a bot's pod by force: its node does not report its end",
			"pod", pod.Name, "node", pod.Spec.NodeName)
		grace = 0
	}
	err := l.cluster.pods.Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &grace, Preconditions: &metav1.Preconditions{UID: &pod.UID},
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return clusterError("delete the bot's pod", err)
	}
	return nil
}
