package kubernetes

import "time"

// Versions of the API groups of the objects that the launcher creates.
const (
	batchVersion         = "batch/v1"
	authorizationVersion = "authorization.k8s.io/v1"
)

// object is an object that the launcher creates, in the cluster's JSON form.
type object = map[string]any

// metadata holds the fields of an object's metadata that the launcher reads.
type metadata struct {
	Name                       string            `json:"name"`
	UID                        string            `json:"uid"`
	ResourceVersion            string            `json:"resourceVersion"`
	Labels                     map[string]string `json:"labels"`
	CreationTimestamp          time.Time         `json:"creationTimestamp"`
	DeletionTimestamp          *time.Time        `json:"deletionTimestamp"`
	DeletionGracePeriodSeconds *int64            `json:"deletionGracePeriodSeconds"`
}

// list is a list of Jobs or pods.
type list[T any] struct {
	Metadata metadata `json:"metadata"`
	Items    []T      `json:"items"`
}

// condition is a condition of a Job or a pod.
type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// holds reports whether the condition's status is True.
func (c condition) holds() bool { return c.Status == "True" }

// job holds the fields of a Job that the launcher reads.
type job struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Suspend  bool `json:"suspend"`
		Template struct {
			Spec struct {
				Volumes []struct {
					Name   string `json:"name"`
					Secret *struct {
						SecretName string `json:"secretName"`
					} `json:"secret"`
				} `json:"volumes"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

// Phases of a pod.
const (
	podPending   = "Pending"
	podRunning   = "Running"
	podSucceeded = "Succeeded"
	podFailed    = "Failed"
	podUnknown   = "Unknown"
)

// pod holds the fields of a pod that the launcher reads.
type pod struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		NodeName   string `json:"nodeName"`
		Containers []struct {
			Name      string `json:"name"`
			Resources struct {
				Limits map[string]any `json:"limits"`
			} `json:"resources"`
		} `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase             string            `json:"phase"`
		Reason            string            `json:"reason"`
		Message           string            `json:"message"`
		Conditions        []condition       `json:"conditions"`
		ContainerStatuses []containerStatus `json:"containerStatuses"`
	} `json:"status"`
}

// containerStatus is the status of a container of a pod.
type containerStatus struct {
	Name  string `json:"name"`
	State struct {
		Waiting *struct {
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"waiting"`
		Running    *struct{}   `json:"running"`
		Terminated *terminated `json:"terminated"`
	} `json:"state"`
}

// terminated is the exit of a container.
type terminated struct {
	ExitCode int    `json:"exitCode"`
	Signal   int    `json:"signal"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
}
