"""The definition of MPIJobs (kubeflow.org/v2beta1) for an API server, as strict as the operator's.

The pods of a job have the schema that the server itself has for pods, as the operator's definition
copies it from there.
"""

NAME = "mpijobs.kubeflow.org"
QUANTITY = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
    "x-kubernetes-int-or-string": True,
}
INT_OR_STRING = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
KEPT = ("type", "format", "enum", "required")
TEXT, FLAG, TIME = (
    {"type": "string"},
    {"type": "boolean"},
    {"type": "string", "format": "date-time"},
)
COUNT, LONG = {"type": "integer", "format": "int32"}, {"type": "integer", "format": "int64"}


def structural(definitions, schema):
    """Returns a schema of the server's OpenAPI document without references, as a definition takes
    it.
    """
    if name := schema.get("$ref", "").removeprefix("#/definitions/"):
        if name.endswith(".Quantity"):
            return QUANTITY
        if name.endswith(".IntOrString"):
            return INT_OR_STRING
        return structural(definitions, definitions[name])
    made = {key: schema[key] for key in KEPT if key in schema}
    if "properties" in schema:
        made["properties"] = {
            name: structural(definitions, part) for name, part in schema["properties"].items()
        }
    for key in ("items", "additionalProperties"):
        if key in schema:
            made[key] = structural(definitions, schema[key])
    return made


def record(required=(), **properties):
    made = {"type": "object", "properties": properties}
    return {**made, "required": list(required)} if required else made


def words(*choices, **more):
    return {**TEXT, "enum": list(choices), **more}


def spec(template, implementations):
    replica = record(replicas=COUNT, restartPolicy=TEXT, template=template)
    scheduling = record(
        minAvailable=COUNT,
        minResources={"type": "object", "additionalProperties": QUANTITY},
        priorityClass=TEXT,
        queue=TEXT,
        scheduleTimeoutSeconds=COUNT,
    )
    policy = record(
        activeDeadlineSeconds=LONG,
        backoffLimit=COUNT,
        cleanPodPolicy=TEXT,
        managedBy=TEXT,
        schedulingPolicy=scheduling,
        suspend={**FLAG, "default": False},
        ttlSecondsAfterFinished=COUNT,
    )
    return record(
        required=["mpiReplicaSpecs"],
        launcherCreationPolicy={**TEXT, "default": "AtStartup"},
        mpiImplementation=words(*implementations, default=implementations[0]),
        mpiReplicaSpecs={"type": "object", "additionalProperties": replica},
        runLauncherAsWorker={**FLAG, "default": False},
        runPolicy=policy,
        slotsPerWorker={**COUNT, "default": 1},
        sshAuthMountPath={**TEXT, "default": "/root/.ssh"},
    )


def status():
    condition = record(
        required=["status", "type"],
        lastTransitionTime=TIME,
        lastUpdateTime=TIME,
        message=TEXT,
        reason=TEXT,
        status=words("True", "False", "Unknown"),
        type=TEXT,
    )
    replica = record(active=COUNT, failed=COUNT, selector=TEXT, succeeded=COUNT)
    return record(
        completionTime=TIME,
        conditions={"type": "array", "items": condition},
        lastReconcileTime=TIME,
        replicaStatuses={"type": "object", "additionalProperties": replica},
        startTime=TIME,
    )


def definition(openapi, implementations=("OpenMPI", "Intel", "MPICH")):
    """Returns the CustomResourceDefinition for a server that has this OpenAPI document."""
    pod = {"$ref": "#/definitions/io.k8s.api.core.v1.PodTemplateSpec"}
    schema = record(
        apiVersion=TEXT,
        kind=TEXT,
        metadata={"type": "object"},
        spec=spec(structural(openapi["definitions"], pod), implementations),
        status=status(),
    )
    version = {
        "name": "v2beta1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"kind": "MPIJob", "listKind": "MPIJobList", "plural": "mpijobs", "singular": "mpijob"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        # Groups of kubernetes.io and k8s.io alone need an approval.
        "metadata": {"name": NAME},
        "spec": {
            "group": "kubeflow.org",
            "names": names,
            "scope": "Namespaced",
            "versions": [version],
        },
    }
