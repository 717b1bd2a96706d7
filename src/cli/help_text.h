// The text of `opdump VERB --help`, in at most 80 columns. Manual pages are made from it.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace opdump::cli {

std::shared_ptr<CLI::FormatterBase> help_formatter();

}  // namespace opdump::cli
