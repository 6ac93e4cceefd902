"""Clusters and jobs from Python, by the command line of fastgpu.

The words are those of the SDK for Alibaba Cloud: a job is a cluster, and a task is one of its
nodes. A run is what `fastgpu run job` starts there. Each call runs one command.
"""

from ._command import CommandError, Error, use
from .job import ArrayRun, Job, Run, Task, find_job, make_job

__all__ = ["ArrayRun", "CommandError", "Error", "Job", "Run", "Task", "find_job", "make_job", "use"]
