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

	"standin/internal/launch"
)

// Launch implements launch.Launcher. The bot is starting then; the cluster
// may have to find room for it and to pull its image first. An attempt that has
// its Job already is not given another: the one that is there is taken up.
func (l *Launcher) Launch(ctx context.Context, a launch.Assignment) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	job, err := l.cluster.jobs.Create(ctx, l.job(a), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return l.adopt(ctx, a)
	}
	if err != nil {
		// The cluster may have made it and not been heard. It is suspended
		// then, and the next launch takes it up.
		return away("make the bot's Job", err)
	}
	return l.letGo(ctx, job, a)
}

// adopt takes up the Job that an attempt has already.
func (l *Launcher) adopt(ctx context.Context, a launch.Assignment) error {
	key := launch.Key{JobID: a.JobID, Attempt: a.Attempt}
	job, err := l.cluster.jobs.Get(ctx, l.name(key), metav1.GetOptions{})
	if err != nil {
		return away("look at the Job that the attempt has already", err)
	}
	whose, ours := l.keyOf(job.Labels)
	switch {
	case !ours || whose != key:
		return fmt.Errorf("a Job has the name %s and is none of this service's bots; remove it", job.Name)
	case job.DeletionTimestamp != nil:
		return errors.New("the cluster is removing a Job of this attempt")
	case suspended(job):
		return l.letGo(ctx, job, a)
	}
	pods, err := l.cluster.pods.List(ctx, selected(l.labels(key)))
	if err != nil {
		return away("look at the pod that the attempt has already", err)
	}
	l.watched.Launching(key)
	l.watched.Update(key, sightOf(job, pods.Items))
	return nil
}

// suspended reports whether a Job waits for its secret.
func suspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

// letGo gives a suspended Job its secret and lets it go. One that cannot have
// it is removed.
func (l *Launcher) letGo(ctx context.Context, job *batchv1.Job, a launch.Assignment) error {
	key := launch.Key{JobID: a.JobID, Attempt: a.Attempt}
	l.watched.Launching(key)
	task, err := a.Task(dir(), l.settings.Bot, l.settings.More)
	if err != nil {
		return l.discard(ctx, key, err)
	}
	_, err = l.cluster.secrets.Create(ctx, l.secret(job, task), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) { // its name is this Job's alone
		return l.discard(ctx, key, away("make the secret with the bot's task", err))
	}
	l.watched.Update(key, launch.BotStatus{State: launch.Starting, Reason: noPod}) // before the watcher can see more
	_, err = l.cluster.jobs.Patch(ctx, job.Name, types.MergePatchType, []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{})
	if err != nil {
		return l.discard(ctx, key, away("let the bot's Job go", err))
	}
	return nil
}

// discard removes a Job that was not to be, and returns why it was not. Where
// the cluster does not do it, the next launch or stop finds the Job by its
// name.
func (l *Launcher) discard(ctx context.Context, key launch.Key, why error) error {
	defer l.watched.LaunchFailed(key)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	if err := l.end(ctx, key); err != nil {
		return errors.Join(why, err)
	}
	return why
}

// Stop implements launch.Launcher: the bot is asked to leave its meeting, and
// killed if it has not in time; its Job and its secret are removed.
func (l *Launcher) Stop(ctx context.Context, jobID uuid.UUID, attempt int) error {
	key := launch.Key{JobID: jobID, Attempt: attempt}
	if err := l.end(ctx, key); err != nil {
		return err
	}
	if l.watched.State(jobID, attempt) != launch.NotStarted {
		l.watched.Update(key, launch.BotStatus{State: launch.Gone, Reason: "it was ended by Standin"})
	}
	return nil
}

// end removes an attempt's Job, so that no further pod is made, then its pods,
// and waits until none of them runs. That there is none is as good.
func (l *Launcher) end(ctx context.Context, key launch.Key) error {
	ctx, cancel := context.WithTimeout(ctx, l.settings.LeaveTime+callTime)
	defer cancel()
	background := metav1.DeletePropagationBackground // what belongs to it goes with it
	err := l.cluster.jobs.Delete(ctx, l.name(key), metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil && !apierrors.IsNotFound(err) {
		return away("remove the bot's Job", err)
	}
	pause := 100 * time.Millisecond
	for {
		pods, err := l.cluster.pods.List(ctx, selected(l.labels(key)))
		if err != nil {
			return away("look whether the bot's pod has ended", err)
		}
		left := 0
		for i := range pods.Items {
			if phase := pods.Items[i].Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
				continue // it goes with the Job
			}
			left++
			if err := l.endPod(ctx, &pods.Items[i]); err != nil {
				return err
			}
		}
		if left == 0 {
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("the bot's pod %s has not ended in time; its node %s does not say that it has",
				pods.Items[0].Name, pods.Items[0].Spec.NodeName)
		}
		pause = min(2*pause, time.Second)
	}
}

// endPod has a pod ended. One whose node does not say for long that it has
// ended is struck from the cluster: its node is lost, and a bot that still ran
// there would be told to leave as soon as it reached the service.
func (l *Launcher) endPod(ctx context.Context, pod *corev1.Pod) error {
	grace := int64(l.settings.LeaveTime / time.Second)
	if pod.DeletionTimestamp != nil { // which is when its grace ends
		if l.settings.Now().Sub(pod.DeletionTimestamp.Time) < l.settings.LostAfter {
			return nil
		}
		l.settings.Log.Warn("a bot's pod is struck from the cluster: its node does not say that it has ended",
			"pod", pod.Name, "node", pod.Spec.NodeName)
		grace = 0
	}
	err := l.cluster.pods.Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &grace, Preconditions: &metav1.Preconditions{UID: &pod.UID},
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return away("end the bot's pod", err)
	}
	return nil
}
