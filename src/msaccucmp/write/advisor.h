// What the table of a comparison suggests to look at first, in the original's words (cann.md 4.9).
#pragma once

#include <string>
#include <vector>

#include "msaccucmp/judge/result_table.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {

struct Advice {
  std::string type = "NA", operator_index = "NA", text = "NA";

  // The three lines of advisor_summary.txt.
  std::vector<std::string> lines() const;
};

// `input_nodes` are the operators that feed the model. Logs what is looked for, and rows that cannot
// be read.
Advice advise(const Row& header, const ResultRows& rows, const std::vector<std::string>& input_nodes,
              Log& log);

}  // namespace opdump::msaccucmp
