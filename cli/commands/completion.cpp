#include <memory>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/context.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::string_view kBash =
    R"SH(# Completion of fastgpu for bash:  source <(fastgpu completion bash)
_fastgpu() {
  local line="${COMP_LINE:0:COMP_POINT}" answer word
  local -a words=()
  # Bash cuts words at ':' and '='; the line is cut at blanks alone.
  read -r -a words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  local typed="${words[-1]}" cut=""
  case "$typed" in
    *[:=]*) cut="${typed%"${typed##*[:=]}"}" ;;
  esac
  COMPREPLY=()
  while IFS= read -r answer; do
    case "$answer" in
      :files) compopt -o default 2>/dev/null ;;
      :nospace) compopt -o nospace 2>/dev/null ;;
      *) word="${answer%%$'\t'*}"; COMPREPLY+=("${word#"$cut"}") ;;
    esac
  done < <("${words[0]}" __complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _fastgpu fastgpu
)SH";

constexpr std::string_view kZsh = R"SH(#compdef fastgpu
# Completion of fastgpu for zsh:  source <(fastgpu completion zsh)
_fastgpu() {
  local answer word help files= nospace=
  local -a found
  while IFS= read -r answer; do
    case "$answer" in
      :files) files=1 ;;
      :nospace) nospace=1 ;;
      *) word="${answer%%$'\t'*}"; help="${answer#"$word"}"; help="${help#$'\t'}"
         found+=("${word//:/\\:}${help:+:$help}") ;;
    esac
  done < <("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( ${#found} )); then
    if [[ -n "$nospace" ]]; then _describe fastgpu found -S ''; else _describe fastgpu found; fi
  fi
  [[ -n "$files" ]] && _files
}
compdef _fastgpu fastgpu
)SH";

constexpr std::string_view kFish =
    R"SH(# Completion of fastgpu for fish:  fastgpu completion fish | source
function __fastgpu_complete
    set -l words (commandline -opc) (commandline -ct)
    for answer in ($words[1] __complete -- $words[2..-1] 2>/dev/null)
        switch $answer
            case ':files'
                __fish_complete_path (commandline -ct)
            case ':nospace'
            case '*'
                echo $answer
        end
    end
end
complete -c fastgpu -f -a '(__fastgpu_complete)'
)SH";

struct Options {
  std::string shell;
};

int run(Context& context, const Options& options) {
  if (options.shell == "bash") context.ui().data(kBash);
  if (options.shell == "zsh") context.ui().data(kZsh);
  if (options.shell == "fish") context.ui().data(kFish);
  return 0;
}

}  // namespace

Action describe_completion(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  Argument& shell = arguments.text("SHELL", "", "The shell to complete in", options->shell);
  shell.values = Values::choice;
  shell.choices = {"bash", "zsh", "fish"};
  shell.required = true;
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
