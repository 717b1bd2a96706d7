// What the worker is asked to run again: python/opdump/_replay/opdump_replay/server.py has the form.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "dump/read/operator_run.h"

namespace opdump::blame {

// A fault of actual that is taken away.
struct Without {
  bool own = false;                        // what the operator computes otherwise than its inputs explain
  bool argument = false;                   // arguments that golden has not
  std::vector<std::uint32_t> inputs = {};  // that are not golden's
};

// What else is asked than whether outputs are what inputs and rounding explain.
struct Question {
  bool argues = false;      // what golden's arguments change on actual's inputs
  bool shares = false;      // instead: how much of the difference each input brings
  bool calibrates = false;  // there is no fault: remember the errors
  bool repeats = false;     // first whether each side makes the recorded outputs again, to the last bit
  // If set, the request asks instead what the outputs of actual would be without this fault and those of
  // earlier requests.
  std::optional<Without> without = std::nullopt;
};

// Whether the dumps name different functions, as overloads are: such executions are not run again together.
bool execute_different_functions(const dump::OperatorRun& golden, const dump::OperatorRun& actual);

// A request for one execution, or for the two of a pair; null for a side that there is not. Errors:
// unsupported -- the dump lacks what is needed; the message is the reason: "its inputs are not in the dump".
Result<std::string> make_request(const dump::OperatorRun* golden, const dump::OperatorRun* actual,
                                 const Question& question = {});

// Answers a request. Errors: those of the worker; internal -- it ended instead of an answer, and what it
// remembered is gone: the next request may be answered again; unsupported -- there is no Python that can run
// operators, and the message is the reason.
using Replay = std::function<Result<std::string>(std::string request)>;

// A request that will probably be made, and what says how long it takes.
struct Upcoming {
  std::string request, function;
  std::uint64_t elements = 0;  // of all tensors
};

// Requests for the worker itself: to judge by the limits of a file as well, and to write those that it has
// seen to one.
std::string make_limits_request(const std::string& path);
// The request holds samples of gains, as GainTable::to_json() has them.
std::string make_write_request(const std::string& path, const std::string& gains);
// Asks for the samples of all files of limits, which are "gains" of the answer.
std::string make_gains_request();
// Asks the worker to take `instead`, of the other run, for the tensor `recorded`, with its elements in
// whatever order of axes makes the two most alike: what is asked of later requests with Question::without.
// Errors: unsupported -- a tensor is not in its dump, or packed.
Result<std::string> make_put_request(const dump::Slot& recorded, const dump::Slot& instead);
// Asks the worker to forget what it was asked to be without.
std::string make_forget_request();

// A request for a script that runs the operator, of `name` as a user knows it, and shows its error.
Result<std::string> make_script_request(const dump::OperatorRun& run, const std::string& name,
                                        const std::string& script);

}  // namespace opdump::blame
