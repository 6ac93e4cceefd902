#include <memory>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/program/context.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::string_view kBash =
    R"SH(# Completion of fastgpu for bash:  source <(fastgpu completion bash)
_fastgpu() {
  local rest="${COMP_LINE:0:COMP_POINT}" blank word answer i files='' cut=''
  local -a words=()
  # Bash cuts words at ':', '=' and '@' as well: pieces without a blank between them are put together.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    blank="${rest%%[![:space:]]*}"
    rest="${rest#"$blank"}"
    word="${COMP_WORDS[i]}"
    ((i < COMP_CWORD)) || word="$rest"
    rest="${rest#"$word"}"
    if [[ -n "$blank" || ${#words[@]} == 0 ]]; then words+=("$word"); else words[-1]+="$word"; fi
  done
  words=("${words[@]//[\\\"\']/}")
  # Only what stands after the last cut is replaced.
  local typed="${words[-1]}" breaks="${COMP_WORDBREAKS//[^:=]/}"
  if [[ -n "$breaks" && "$typed" == *["$breaks"]* ]]; then
    cut="${typed%"${typed##*["$breaks"]}"}"
  fi
  # An '@' begins the piece that is replaced.
  if [[ "$COMP_WORDBREAKS" == *@* && "${typed#"$cut"}" == *@* ]]; then cut="${typed%@*}"; fi
  COMPREPLY=()
  while IFS= read -r answer; do
    case "$answer" in
      :files) files=1 ;;
      :nospace) compopt -o nospace 2>/dev/null ;;
      *) word="${answer%%$'\t'*}"; COMPREPLY+=("${word#"$cut"}") ;;
    esac
  done < <("${words[0]/#\~/$HOME}" __complete -- "${words[@]:1}" 2>/dev/null)
  [[ -n "$files" ]] || return 0
  if ((${#COMPREPLY[@]} == 0)); then
    compopt +o nospace -o default 2>/dev/null
    return 0
  fi
  while IFS= read -r word; do  # Names of ours and files begin alike: both are offered.
    printf -v answer %q "$word"
    if [[ -d "$word" ]]; then answer+=/; fi
    COMPREPLY+=("$answer")
  done < <(compgen -f -- "$typed")
}
complete -F _fastgpu fastgpu
)SH";

constexpr std::string_view kZsh = R"SH(#compdef fastgpu
# Completion of fastgpu for zsh:  source <(fastgpu completion zsh)
_fastgpu() {
  local answer word help files= nospace=
  local -a found line
  line=("${(@Q)words[2,CURRENT]}")
  line[-1]="${(Q)PREFIX}"
  while IFS= read -r answer; do
    case "$answer" in
      :files) files=1 ;;
      :nospace) nospace=1 ;;
      *) word="${answer%%$'\t'*}"; help="${answer#"$word"}"; help="${help#$'\t'}"
         found+=("${word//:/\\:}${help:+:$help}") ;;
    esac
  done < <("${words[1]/#\~/$HOME}" __complete -- "${line[@]}" 2>/dev/null)
  if (( ${#found} )); then
    if [[ -n "$nospace" ]]; then _describe fastgpu found -S ''; else _describe fastgpu found; fi
  fi
  [[ -n "$files" ]] && _files
}
if [[ "$funcstack[1]" == _fastgpu ]]; then _fastgpu "$@"; else compdef _fastgpu fastgpu; fi
)SH";

constexpr std::string_view kFish =
    R"SH(# Completion of fastgpu for fish:  fastgpu completion fish | source
function __fastgpu_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct | string unescape)
    for answer in ($words[1] __complete -- $words[2..-1] "$typed" 2>/dev/null)
        switch $answer
            case ':files'
                __fish_complete_path "$typed"
            case ':nospace'
            case '*'
                echo $answer
        end
    end
end
complete -c fastgpu -f -a '(__fastgpu_complete)'
)SH";

struct CompletionOptions {
  std::string shell;
};

int run(Context& context, const CompletionOptions& options) {
  if (options.shell == "bash") context.ui().data(kBash);
  if (options.shell == "zsh") context.ui().data(kZsh);
  if (options.shell == "fish") context.ui().data(kFish);
  return 0;
}

}  // namespace

Action make_completion_command(Arguments& arguments) {
  auto options = std::make_shared<CompletionOptions>();
  Argument& shell = arguments.text("SHELL", "", "The shell", options->shell);
  shell.values = Values::choice;
  shell.choices = {"bash", "zsh", "fish"};
  shell.required = true;
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
