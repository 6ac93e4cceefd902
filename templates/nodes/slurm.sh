# Calls Slurm on the node that submits jobs. $1: the action, $2: the job's directory, relative to home.
# Exit status 3: the job was not submitted. 4: the controller does not answer. 5: Slurm does not know the job.
# 6: the job has not ended in time. 7: Slurm is missing. 8: the nodes may lack what jobs need there.
# shellcheck shell=sh
login_umask=$(umask) # Slurm gives the ranks the one of the process that submits them.
umask 077
action=$1
job=$2
seconds=${3:-0}
within=
# shellcheck disable=SC1091
if ! command -v sbatch > /dev/null 2>&1 && [ -r /etc/profile ]; then . /etc/profile > /dev/null 2>&1; fi
if ! command -v sbatch > /dev/null 2>&1; then
  echo 'sbatch is missing' >&2
  exit 7
fi
# shellcheck disable=SC2154   # Of slurm_environment.sh.
eval "$forget_slurm_options"
cd "$HOME" || exit 1

# Each answer of Slurm is read line by line: a site's wrapper or filter may print more.

# Finds a job whose submission had no answer: its comment is in the queue alone. Returns 1 if it is not there.
find_in_queue() {
  comment=$(sed -n 's/^#SBATCH --comment=//p' "$job/batch")
  if ! queue=$(squeue --noheader --user="$(id -u)" --states=all --format='%A %k' 2>&1); then
    printf '%s\n' "$queue" >&2
    exit 4
  fi
  [ -n "$comment" ] || return 1
  note_id "$(printf '%s\n' "$queue" | sed -n "s/^\([0-9][0-9]*\) $comment\$/\1/p" | head -n 1)"
}

# Records Slurm's number of the job. Returns 1 for an empty one.
note_id() {
  [ -n "$1" ] || return 1
  printf '%s\n' "$1" > "$job/batch-id.part.$$" && mv "$job/batch-id.part.$$" "$job/batch-id"
}

is_submitted() {
  [ -s "$job/batch-id" ] || { [ -e "$job/submitting" ] && find_in_queue; }
}

find_id() {
  if is_submitted; then
    IFS=';' read -r id _ < "$job/batch-id"
    return
  fi
  [ -e "$job/taken" ] || exit 3
  has_script_ended || complain_without_id
  print_batch_end
  exit 0
}

# Records the number that sbatch has printed, as one line "NUMBER" or "NUMBER;CLUSTER". If there is none, or several, the
# job is looked for in the queue.
take_answer() {
  mv "$job/batch-id.part" "$job/taken" || exit 4
  ids=$(sed -n 's/^\([0-9][0-9]*\)\(;[^ ]*\)\{0,1\}$/\1/p' "$job/taken")
  case $ids in
    '' | *[!0-9]*) find_in_queue || complain_without_id ;;
    *) note_id "$ids" || exit 4 ;;
  esac
  rm -f "$job/taken"
}

# Ends this script for a job that Slurm has taken, and that may run.
complain_without_id() {
  {
    printf '%s' 'sbatch took the job, but its number is not in its answer, and the comment of the job is not in the queue: '
    tail -n 5 "$job/taken" | tr '\n' ' '
  } >&2
  exit 4
}

# Slurm looks at its queue once a second, and at once when a job ends where fastgpu has set it up. There the job is
# submitted from within another one, which needs one idle CPU, waits for nothing, and ends right after.
submit_job() {
  if [ -e "$job/submit-error" ]; then rm -f "$job/submit-error"; fi
  script=$job/batch
  if [ -e "$job/batch-files" ]; then
    script=$job/batch-files.script
    cat "$job/batch" "$job/batch-files" > "$script" || return
  fi
  if [ -e /var/lib/fastgpu-slurm/slurm.conf ]; then
    code=0
    # shellcheck disable=SC2016
    salloc --quiet --immediate --job-name=fastgpu-submit --ntasks=1 --time=1 sh -c "$forget_slurm_options"'
      umask "$3"
      exec sbatch --parsable "$2" > "$1/batch-id.part" 2> "$1/submit-error"' sh "$job" "$script" "$login_umask" > /dev/null 2>&1 < /dev/null || code=$?
    [ ! -e "$job/submit-error" ] || return "$code"
  fi
  (umask "$login_umask" && exec sbatch --parsable "$script") > "$job/batch-id.part" 2> "$job/submit-error"
}

# Decides after an error of sbatch whether Slurm has the job. What a site prints beside the reason does not count.
look_after_error() {
  case $(grep 'submission failed: ' "$job/submit-error" || grep 'fatal: ' "$job/submit-error") in
    *'connect failure'*) ;; # Nothing was sent.
    *'timed out'* | *'send failure'* | *'receive failure'* | *'shutdown failure'* | *'Zero Bytes'*)
      find_in_queue && return
      cat "$job/submit-error" >&2
      exit 4
      ;;
    '') if find_in_queue; then return; fi ;; # sbatch was killed, or its wrapper has failed.
  esac
  cat "$job/submit-error" >&2
  rm -f "$job/submitting"
  exit 1
}

# Prints what the controller knows, with times in seconds since 1970: others are in the time zone of this login. Returns 1
# if it does not know the job.
ask_controller() {
  # shellcheck disable=SC2086
  if answer=$(SLURM_TIME_FORMAT=%s $within scontrol --oneliner show job "$id" 2>&1); then
    if printf '%s\n' "$answer" | grep "^JobId=$id "; then return 0; fi
    set -- 'scontrol prints no line of the job: '
  elif [ $? = 124 ] && [ -n "$within" ]; then
    answer="scontrol has no answer after $seconds seconds"
  fi
  case $answer in *'Invalid job id'*) return 1 ;; esac
  printf '%s%s\n' "${1-}" "$answer" >&2
  exit 4
}

# Prints what the controller knows of the job, and what its state does not say: that the batch script has ended, and why
# Slurm does not use the nodes of a job that it has cancelled, as it does when a prolog fails.
print_answer() {  # $1: what the controller knows.
  printf 'scontrol\n%s\n' "$1"
  case " $1" in
    *' JobState=COMPLETING '*) if has_script_ended; then sed 's/^/batch /' "$job/batch-end"; fi ;;
    *' JobState=CANCELLED '*)
      nodes=$(printf '%s\n' "$1" | sed -n 's/.* NodeList=\([^ (][^ ]*\) .*/\1/p')
      [ -n "$nodes" ] || return 0
      SLURM_TIME_FORMAT=%s scontrol --oneliner show node "$nodes" 2> /dev/null | sed -n 's/^\(NodeName=[^ ]*\) .* \(Reason=.*\)/node \1 \2/p'
      ;;
  esac
}

# Prints what is known of the job, after a line that names the source.
print_state() {
  if answer=$(ask_controller); then
    note_nodes "$answer"
    print_answer "$answer"
    end_answer
    # What reads this takes such a job for one that has ended, and its batch script ends itself.
    if is_requeued "$answer"; then scancel "$id" > /dev/null 2>&1 || :; fi
    return 0
  else
    code=$?
    [ "$code" = 1 ] || exit "$code"
  fi
  if answer=$(SLURM_TIME_FORMAT=%s sacct --allocations --noheader --parsable2 --jobs="$id" \
    --format=JobID,State,ExitCode,NodeList,Start,End 2> /dev/null | grep "^$id|"); then
    printf 'sacct\n%s\n' "$answer"
    end_answer
    return 0
  fi
  has_script_ended || exit 5
  print_batch_end
}

print_batch_end() {
  echo batch
  cat "$job/batch-end"
  if ended=$(date -r "$job/batch-end" +%s 2> /dev/null); then printf 'ended %s\n' "$ended"; fi
  end_answer
}

# Ends an answer: whether the job was to be stopped, and the present time, by which the age of the times in the answer is
# known where another clock is.
end_answer() {
  if [ -e "$job/stopped" ]; then echo stopped; fi
  printf 'clock %s\n' "$(date +%s)"
}

has_not_ended() {  # $1: what the controller knows.
  case " $1" in
    *' JobState=PENDING '* | *' JobState=CONFIGURING '* | *' JobState=RUNNING '* | *' JobState=COMPLETING '* | \
      *' JobState=SUSPENDED '* | *' JobState=STOPPED '* | *' JobState=SIGNALING '* | *' JobState=STAGE_OUT '* | \
      *' JobState=RESIZING '* | *' JobState=REQUEUE'* | *' JobState=RESV_DEL_HOLD '* | *' JobState=SPECIAL_EXIT '*) return 0 ;;
  esac
  return 1
}

# True once Slurm has put the job back into its queue, or has started it again.
is_requeued() {  # $1: what the controller knows.
  case " $1 " in
    *' Restarts=0 '* | *' JobState=COMPLETING '*) return 1 ;;
    *' Restarts='*) return 0 ;;
  esac
  return 1
}

# True for a job that may be on nodes which fastgpu has set up, and whose batch script has not begun in this home directory.
may_be_elsewhere() { [ -e /var/lib/fastgpu-slurm/slurm.conf ] && [ ! -e "$job/batch-news" ]; }

# Names the nodes of a job that is elsewhere to those that follow it here. Output may be on any of them.
note_nodes() {  # $1: what the controller knows.
  may_be_elsewhere || return 0
  nodes=$(printf '%s\n' "$1" | sed -n 's/.* NodeList=\([^ (][^ ]*\) .*/\1/p')
  [ -n "$nodes" ] || return 0
  printf 'nodes %s\noutput\n' "$nodes" > "$job/batch-news.$$" && mv "$job/batch-news.$$" "$job/batch-news"
}

has_script_ended() { [ -s "$job/batch-end" ]; }

# True once the batch script has ended with 0, which is here if it ran on this node or in the same home directory.
has_succeeded() { has_script_ended && read -r code _ < "$job/batch-end" && [ "$code" = 0 ]; }

# True for a job whose batch script has ended by itself, while Slurm still cleans up on nodes, one of which may not answer.
is_cleaned_up() {  # $1: what the controller knows.
  case " $1" in
    *' JobState=COMPLETING Reason=NonZeroExitCode '* | *' JobState=COMPLETING Reason=JobLaunchFailure '* | \
      *' JobState=COMPLETING Reason=RaisedSignal'*) return 0 ;;
    *' JobState=COMPLETING '*) has_script_ended ;;
    *) return 1 ;;
  esac
}

# True once the job has been cleaned up for three seconds, which Slurm needs on nodes that answer.
is_cleaned_up_long() {  # $1: what the controller knows.
  is_cleaned_up "$1" || return 1
  : "${cleaned_since:=$(date +%s)}"
  [ "$(($(date +%s) - cleaned_since))" -ge 3 ]
}

# Cancels the job, and returns once the controller has seen its end, or does not know it. A job that Slurm is still ending
# after that time is cancelled, too: its nodes are printed. Else exits with 4 or 6.
cancel_id() {
  if ! answer=$(scancel "$id" 2>&1); then
    case $answer in
      *'Invalid job id'* | *'already complet'*) ;;
      *)
        printf '%s\n' "$answer" >&2
        exit 4
        ;;
    esac
  fi
  end=$(($(date +%s) + seconds))
  while :; do
    code=0
    answer=$(ask_controller 2>&1) || code=$?
    case $code in
      0) has_not_ended "$answer" || return 0 ;;
      1) return 0 ;;
    esac
    if is_cleaned_up_long "$answer"; then break; fi
    [ "$(date +%s)" -lt "$end" ] || break
    sleep 0.2
  done
  case "$code $answer" in
    *' JobState=COMPLETING '*) printf '%s\n' "$answer" | sed -n 's/.* NodeList=\([^ (][^ ]*\) .*/\1/p' ;;
    '0 '*) exit 6 ;;
    *)
      printf '%s\n' "$answer" >&2
      exit "$code"
      ;;
  esac
}

# Removes the job's secrets.
forget() { rm -f "$job/variables" "$job/comm-secret" "$job/batch-files" "$job/batch-files.script"; }

case $action in
  test)
    exec sbatch --test-only 2>&1
    ;;
  submit)  # $3: the mark of the nodes, which share no home directory; empty if they do.
    prepared=
    if [ -n "${3-}" ] && [ -e .fastgpu/slurm-nodes ]; then read -r prepared < .fastgpu/slurm-nodes; fi
    if [ "$prepared" != "${3-}" ]; then exit 8; fi
    if [ ! -s "$job/batch-id" ] && [ ! -e "$job/stopped" ]; then
      : > "$job/submitting"
      if submit_job; then code=0; else code=$?; fi
      rm -f "$job/batch-files" "$job/batch-files.script"
      if [ "$code" = 0 ]; then
        if [ -s "$job/submit-error" ]; then cat "$job/submit-error" >&2; fi # Its warnings.
        take_answer
      else
        look_after_error
      fi
    fi
    find_id
    # Another fastgpu may have stopped the job meanwhile.
    if [ -e "$job/stopped" ]; then scancel "$id" >&2; fi
    cat "$job/batch-id"
    ;;
  state)  # $3: the seconds that the controller has for its answer; 0 for any time.
    if [ "$seconds" -gt 0 ]; then within="timeout $seconds"; fi
    find_id
    print_state
    ;;
  await)  # As state, once the job has ended; exits with 6, after what was last seen, if it has not. $3: the number of looks, $4: the seconds between them.
    find_id
    look=0
    next=2  # The look that asks the controller, which costs more than a file.
    if may_be_elsewhere; then next=0; fi
    until has_succeeded; do
      if [ "$look" -ge "$3" ]; then
        if [ -n "${answer-}" ]; then printf 'scontrol\n%s\n' "$answer"; fi
        exit 6
      fi
      # The controller alone knows the cause of a bad end. It hears of the script's end soon.
      if has_script_ended || [ -n "${cleaned_since-}" ] || [ "$look" -ge "$next" ]; then
        if ! answer=$(ask_controller) || ! has_not_ended "$answer" || is_requeued "$answer"; then break; fi
        if is_cleaned_up_long "$answer"; then break; fi
        note_nodes "$answer"
        next=$((2 * look + 2))
        if may_be_elsewhere; then next=0; fi
      fi
      sleep "$4"
      look=$((look + 1))
    done
    # Slurm needs a second more to see the end of a script that succeeded.
    if has_succeeded; then print_batch_end; else print_state; fi
    ;;
  cancel)
    mkdir -p "$job" && : > "$job/stopped" || exit 1
    [ -e "$job/taken" ] || is_submitted || exit 0
    find_id
    cancel_id
    forget
    ;;
  end)
    cat > "$job/status.part.$$" || exit 1
    if [ -e "$job/status" ]; then rm -f "$job/status.part.$$"; else mv "$job/status.part.$$" "$job/status"; fi
    forget
    ;;
  forget) forget ;;
  *) exit 2 ;;
esac
