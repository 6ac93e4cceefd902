"""Prints, one a line, the options of nvcc for the GPUs that device code is built for:
architectures.py NVCC [few]

They ask for code for each of these GPUs that this nvcc supports, and for PTX of the newest, which
drivers compile for GPUs that are newer still. CUDA 13 has no code for sm_70 any more. A GPU also
runs the code of an older one of its generation (sm_86 that of sm_80), so that boards are left out.
`few`, for builds that are not installed: two of them, which compile in a fifth of the time.
"""

import subprocess
import sys

# V100, T4, A100, RTX 30, L4 and RTX 40, H100, B200, B300, Thor, RTX 50, GB10.
WANTED = (
    "sm_70",
    "sm_75",
    "sm_80",
    "sm_86",
    "sm_89",
    "sm_90",
    "sm_100",
    "sm_103",
    "sm_110",
    "sm_120",
    "sm_121",
)
FEW = ("sm_80", "sm_90")


def options(offered, wanted):
    """Returns the options for an nvcc that offers code for these; empty if none of them is
    wanted.
    """
    numbers = [name[len("sm_") :] for name in wanted if name in offered]
    lines = [f"-gencode=arch=compute_{number},code=sm_{number}" for number in numbers]
    return (
        lines + [f"-gencode=arch=compute_{numbers[-1]},code=compute_{numbers[-1]}"] if lines else []
    )


def main():
    listed = subprocess.run([sys.argv[1], "--list-gpu-code"], capture_output=True, text=True)
    wanted = FEW if sys.argv[2:] == ["few"] else WANTED
    found = options(listed.stdout.split(), wanted) if listed.returncode == 0 else []
    if not found:
        sys.exit(
            f"{sys.argv[1]} --list-gpu-code names none of {', '.join(wanted)}: CUDA 12 or later is "
            "needed"
        )
    print("\n".join(found))


if __name__ == "__main__":
    main()
