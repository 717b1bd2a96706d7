// The workers that run recorded operators again: python/opdump/_replay.py in the user's Python. Most requests
// are answered by the first one; a walk that goes on for long gets others, which work ahead of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "blame/request.h"
#include "dump/read/dump_set.h"

namespace opdump::cli {

class ReplayWorkers {
 public:
  // `python` is the program; empty: what OPDUMP_PYTHON names, else python3.
  // `limits`: a file of limits that they judge by as well; empty: none.
  // `dump`: one of those that they are asked about; an error names the Python that recorded it.
  ReplayWorkers(std::string python, const dump::DumpSet& dump, std::string limits = {});
  // Ends them, whatever they do.
  ~ReplayWorkers();
  ReplayWorkers(const ReplayWorkers&) = delete;
  ReplayWorkers& operator=(const ReplayWorkers&) = delete;

  // To be asked soon: importing torch takes a while. Errors are those of ask().
  void prepare();
  // This will probably be asked: works it out meanwhile. Only for requests whose answers depend on no others.
  void expect(const blame::Upcoming& expected);
  // The answer to a request of blame/request.h. Errors: not_found, io; usage -- this Python has no torch;
  // config -- the file of limits is none.
  Result<std::string> ask(std::string request);

 private:
  class Worker;
  using Answer = std::future<Result<std::string>>;
  Result<> start();
  Result<> check_python();
  std::string python_, limits_, recorded_with_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unordered_map<std::string, Answer> expected_;                   // by request
  std::uint64_t expected_elements_ = 0;                                // so far
  std::unordered_map<std::string, std::vector<std::uint64_t>> given_;  // elements, by function and worker
  Answer greeted_;           // of the first worker, until it is looked at
  bool is_refused_ = false;  // a further worker could not be started
};

}  // namespace opdump::cli
