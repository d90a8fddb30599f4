# The guard of a run. The protocol, and why each step is there: docs/guard.md.
# Arguments: the seconds between TERM and KILL, then the command and its arguments.
# Runs in any POSIX shell, with mkdir, mv, cat, sleep, and date where there is one. Every name
# begins with `_`: to assign to a variable of the environment would change what the command sees.
# Whole lines of comment and indentation are taken out before this goes into an object.
_grace=$1
shift
_poll=5
_margin=15
# The index of the node; none in an elastic run or a batch Job, whose pods go by their names.
_rank=${RANK:-${PET_NODE_RANK-}}
_id=$RUN_NUMBER.${_rank:-${HOSTNAME:-pod}}
_owner=$CHECKPOINT_DIR/OWNER
_done=$CHECKPOINT_DIR/COMPLETE.json
_say() { printf 'runwright-guard: %s\n' "$*" >&2; }
# Put a line in the place of a file: readers see the old one or the new one.
_write() { printf '%s\n' "$2" >"$_owner/.$_id.new" && mv -f "$_owner/.$_id.new" "$1"; }
# End with an exit code, and let go of the folder if it was held.
_leave() {
  [ ! -e "$_owner/$_id" ] || _write "$_owner/$_id" "$_last"
  exit "$1"
}
# A signal came: pass it on, and remember the exit code that tells of it. Those after it would say
# nothing new to the command, and bash loses exit codes where one trap interrupts another.
_stop() {
  _stopped=$2
  [ "$_child" ] || return 0
  trap '' TERM INT
  _signal=$1
  # A shell starts what it does not wait for with INT ignored; what left it so gets TERM instead.
  [ "$1" = TERM ] || while read -r _key _value; do
    case $_key$_value in SigIgn:*[2367abef]) _signal=TERM ;; esac
  done <"/proc/$_child/status"
  kill -s "$_signal" "$_child"
  _last=stopped
  _write "$_owner/$_id" "stopping $_grace"
} 2>/dev/null
# End here if the training is complete, or if nobody can tell.
_check() {
  [ -e "$_done" ] || return 0
  case $(cat "$_done") in *'{'*'"run"'*'}'*)
    _say "this training is complete, as $_done says: nothing to do"
    _leave 0 ;;
  esac
  _say "$_done is damaged: delete it if the training is not complete," \
    "else write {\"run\": \"$RUN_NAME\"} to it"
  _leave 78
}
# Look who else is there. Sets _higher (a run of a higher number), _held (pods of lower ones that
# have not let go; with an argument these are taken over), _patience (the longest grace of those)
# and _apart (a node of this run was told to stop on its own).
_look() {
  _higher= _held= _patience=0 _apart=
  for _entry in "$_owner"/[0-9]*; do
    _name=${_entry##*/}
    _number=${_name%%.*}
    case $_number in *[!0-9]* | ??????????*) continue ;; esac
    _state= _seconds=
    read -r _state _seconds _rest <"$_entry"
    if [ "$_number" -gt "$RUN_NUMBER" ]; then
      _higher=$_number
    elif [ "$_number" -lt "$RUN_NUMBER" ]; then
      case $_state in released | stopped | taken) continue ;; esac
      if [ "$1" ]; then _write "$_entry" "taken by $RUN_NUMBER" && continue; fi
      _held="$_held $_name"
      # What is no number of seconds counts as the grace of this run.
      case $_seconds in '' | *[!0-9]* | ??????*) _seconds=$_grace ;; esac
      [ "$_seconds" -le "$_patience" ] || _patience=$_seconds
    else
      case $_rank/$_state in [0-9]*/stopp*) _apart=1 ;; esac
    fi
  done
} 2>/dev/null
# Beside the command: stop it once a higher number wants the folder.
_watch() {
  while { kill -0 "$_child" && sleep "$_poll" >/dev/null; } 2>/dev/null; do
    _look
    [ "$_higher" ] || continue
    _say "run $_higher wants this folder: telling the command to stop, for at most $_grace s"
    kill -s TERM "$_child" 2>/dev/null
    while [ "$_grace" -gt 0 ] && kill -0 "$_child" 2>/dev/null; do
      read -r _state _rest <"$_owner/$_id" 2>/dev/null
      # The other one does not wait any longer: each further write could harm it.
      [ "$_state" != taken ] || break
      sleep 1 >/dev/null 2>&1
      _grace=$((_grace - 1))
    done
    kill -s KILL "$_child" 2>/dev/null
    return
  done
}

_child= _stopped= _last=released
trap '_stop TERM 143' TERM
trap '_stop INT 130' INT
for _name in mkdir mv cat sleep; do
  command -v "$_name" >/dev/null || { _say "this image has no $_name"; exit 78; }
done
_check
[ "$CHECKPOINT_DIR" ] && [ "$RUN_NUMBER" -gt 0 ] && mkdir -p "$_owner" &&
  _write "$_owner/$_id" "held $_grace" || {
  _say "cannot write to $CHECKPOINT_DIR: is the claim there, and may user and group write to it?"
  exit 78
}
_waited=0
while _look; [ ! "$_higher" ] && [ "$_held" ]; do
  if [ "$_waited" -ge $((_patience + _margin)) ]; then
    _say "they did not let go:$_held; taking over"
    _look take
    break
  fi
  [ "$_waited" -gt 0 ] || _say "waiting for$_held, at most $((_patience + _margin)) s"
  sleep 1
  _waited=$((_waited + 1))
  [ ! "$_stopped" ] || _leave "$_stopped"
done
[ ! "$_higher" ] || { _say "run $_higher owns $CHECKPOINT_DIR: starting nothing"; _leave 77; }
[ ! "$_stopped" ] || _leave "$_stopped"
_check
# `exec` takes a program, never a function or a builtin of this shell.
(exec "$@") &
_child=$!
[ ! "$_stopped" ] || _stop TERM "$_stopped"
_watch &
_watcher=$!
# A signal ends `wait` early, with a code of its own; a child that can be asked for was not waited
# for to its end.
while wait "$_child"; _code=$?; [ "$_code" != 127 ] && kill -0 "$_child" 2>/dev/null; do :; done
trap '' TERM INT
# bash may answer with a signal that is long past. Asked again, it tells the command's exit code;
# a shell that has told it already says 127.
for _now in 1 2 3; do
  wait "$_child" 2>/dev/null
  _now=$?
  [ "$_now" = 127 ] || _code=$_now
done
# Not TERM: a shell that was started just now may lose it.
{ kill -s KILL "$_watcher"; wait "$_watcher"; } 2>/dev/null
_look
if [ "$_code" = 0 ] && [ "$_stopped$_higher$_apart" ]; then
  _say "the command ended because it was told to stop: not complete"
  _code=143
elif [ "$_code" = 0 ] && [ "${_rank:-0}" = 0 ]; then
  _at=$(date -u +%Y-%m-%dT%H:%M:%SZ 2>/dev/null) && _at="\"$_at\"" || _at=null
  _write "$_done" "{\"run\": \"$RUN_NAME\", \"at\": $_at, \"step\": null}" ||
    _say "cannot write $_done: this training would start again"
fi
_leave "$_code"
