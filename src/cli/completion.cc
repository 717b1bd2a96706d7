// `opdump completion SHELL`: the script that a shell reads to complete command lines. Options come from
// --help, so that no list of them can be out of date.
#include <string>

#include "cli/arguments.h"
#include "cli/verb.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

// Verbs of a verb stand in its --help, each in a line with what it does; options begin a line. Behind "--" is
// a program.
constexpr std::string_view kBash = R"sh(_opdump() {
  local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} words depth=1 i
  for ((i = 2; i < COMP_CWORD; ++i)); do
    [ "${COMP_WORDS[i]}" = -- ] || continue
    if declare -F _command_offset >/dev/null; then
      _command_offset $((i + 1))
    elif [ "$COMP_CWORD" -eq $((i + 1)) ]; then
      mapfile -t COMPREPLY < <(compgen -c -- "$word" | sort -u)
    else
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
    return
  done
  [[ $verb == graph || $verb == msaccucmp ]] && depth=2
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="@VERBS@ help"
  elif [ "$verb" = help ]; then
    words="@VERBS@"
  elif [ "$COMP_CWORD" -eq 2 ] && [ $depth -eq 2 ]; then
    words=$(opdump "$verb" --help 2>/dev/null | sed -nE 's/^  +([a-z_]+)  +[A-Z].*/\1/p')
  elif [[ $word == -* ]]; then
    words=$(opdump "${COMP_WORDS[@]:1:depth}" --help 2>/dev/null | sed -nE 's/^ +(-[A-Za-z][^-]*)?(--[a-z][a-z_-]*).*/\2/p' | sort -u)
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
    return
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o filenames -F _opdump opdump
)sh";

constexpr std::string_view kZsh = R"sh(#compdef opdump
_opdump() {
  local depth=2 program=${words[(i)--]}
  if (( program < CURRENT )); then
    shift program words
    (( CURRENT -= program ))
    _normal
    return
  fi
  [[ $words[2] == (graph|msaccucmp) ]] && depth=3
  if (( CURRENT == 2 )); then
    compadd @VERBS@ help
  elif [[ $words[2] == help ]]; then
    compadd @VERBS@
  elif (( CURRENT == 3 && depth == 3 )); then
    compadd $(opdump $words[2] --help 2>/dev/null | sed -nE 's/^  +([a-z_]+)  +[A-Z].*/\1/p')
  elif [[ $words[CURRENT] == -* ]]; then
    compadd -- $(opdump $words[2,depth] --help 2>/dev/null | sed -nE 's/^ +(-[A-Za-z][^-]*)?(--[a-z][a-z_-]*).*/\2/p' | sort -u)
  else
    _files
  fi
}
compdef _opdump opdump
)sh";

constexpr std::string_view kFish = R"sh(function __opdump_words
  set -l words (commandline -opc)
  switch "$words[2]"
    case graph msaccucmp
      if test (count $words) -eq 2
        opdump $words[2] --help 2>/dev/null | string match -rg -- '^  +([a-z_]+)  +[A-Z]'
      else
        opdump $words[2..3] --help 2>/dev/null | string match -rg -- '^ +(?:-[A-Za-z][^-]*)?(--[a-z][a-z_-]*)' | sort -u
      end
    case '*'
      opdump $words[2] --help 2>/dev/null | string match -rg -- '^ +(?:-[A-Za-z][^-]*)?(--[a-z][a-z_-]*)' | sort -u
  end
end
complete -c opdump -n __fish_use_subcommand -f -a "@VERBS@ help"
complete -c opdump -n "__fish_seen_subcommand_from help" -f -a "@VERBS@"
complete -c opdump -n "not __fish_use_subcommand" -a "(__opdump_words)"
)sh";

std::string with_verbs(std::string_view script) {
  constexpr std::string_view kMark = "@VERBS@";
  std::string names;
  for (const Verb& verb : verbs()) names.append(names.empty() ? "" : " ").append(verb.name);
  std::string text(script);
  for (std::size_t at = 0; (at = text.find(kMark, at)) != std::string::npos; at += names.size())
    text.replace(at, kMark.size(), names);
  return text;
}

}  // namespace

Result<int> run_completion(std::span<const char* const> args) {
  CLI::App app("Prints what lets a shell complete verbs and options.", "opdump completion");
  std::string shell;
  app.add_option("SHELL", shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  app.footer(
      "Examples:\n"
      "  source <(opdump completion bash)\n"
      "  opdump completion fish > ~/.config/fish/completions/opdump.fish");
  if (auto done = parse_arguments(app, args)) return *done;
  terminal::print(with_verbs(shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish));
  return 0;
}

}  // namespace opdump::cli
