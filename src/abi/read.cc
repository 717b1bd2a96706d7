// The C door to reading and comparing.
#include "opdump/opdump_read.h"

#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compare/compare.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "dump/read/dump_set.h"
#include "model/operator.h"
#include "report/summary.h"

namespace compare = opdump::compare;
namespace dump = opdump::dump;
namespace model = opdump::model;
using opdump::Code;
using opdump::Error;
using opdump::Result;

namespace {

// An execution with the texts that its C structs point to.
struct OperatorTexts {
  dump::OperatorRun run;
  std::string name, source;
  std::vector<std::string> slot_names;
};

// Runs with equal keys are recorded one after the other; the time of the first slot distinguishes them.
using Key = std::tuple<std::uint32_t, std::int64_t, std::int64_t, std::uint64_t, std::uint64_t, std::string>;

Key key_of(const dump::OperatorRun& run) {
  return {run.rank, run.step, run.graph_id, run.task, run.slots.empty() ? 0 : run.slots[0].timestamp_us,
          run.name};
}

}  // namespace

struct opdump_dump {
  dump::DumpSet set;
  std::vector<OperatorTexts> operators;
  std::vector<std::string> problems;
};

struct opdump_elements {
  dump::StoredTensor tensor;
};

struct opdump_comparison {
  struct Finding {
    std::uint32_t rank = 0;
    std::int64_t step = 0;
    std::string name, reason;
    compare::Verdict verdict = compare::Verdict::match;
    std::size_t golden = OPDUMP_NO_OPERATOR, actual = OPDUMP_NO_OPERATOR;
  };
  std::vector<Finding> findings;
  std::string conclusion;
  compare::Answer outcome = compare::Answer::nothing_compared;
  std::size_t first_bad = OPDUMP_NO_OPERATOR;
};

namespace {

thread_local std::string last_error;

opdump_status status_of(Code code) {
  switch (code) {
    case Code::usage:
      return OPDUMP_ERROR_ARGUMENT;
    case Code::not_found:
      return OPDUMP_ERROR_NOT_FOUND;
    case Code::corrupt:
      return OPDUMP_ERROR_CORRUPT;
    case Code::internal:
      return OPDUMP_ERROR_INTERNAL;
    default:
      return OPDUMP_ERROR_IO;
  }
}

opdump_status call(const std::function<Result<>()>& body) noexcept {
  try {
    last_error.clear();
    const Result<> done = body();
    if (done) return OPDUMP_OK;
    last_error = done.error().message();
    return status_of(done.error().code());
  } catch (const std::bad_alloc&) {
    last_error = "out of memory";
  } catch (const std::exception& error) {
    last_error = error.what();
  } catch (...) {
    last_error = "unknown exception";
  }
  return OPDUMP_ERROR_INTERNAL;
}

Error usage(const char* what) { return {Code::usage, what}; }

OperatorTexts make_operator(dump::OperatorRun run) {
  OperatorTexts op;
  op.name = compare::operator_name(run);
  if (run.op != nullptr) op.source = model::format_source(*run.op);
  for (const dump::Slot& slot : run.slots) op.slot_names.push_back(compare::slot_name(slot));
  op.run = std::move(run);
  return op;
}

Result<> open(const char* path, opdump_dump** result) {
  if (!path || !result) return usage("opdump_dump_open: path and dump must not be NULL");
  *result = nullptr;
  OPDUMP_TRY(dump::DumpSet set, dump::DumpSet::open(path));
  auto made = std::make_unique<opdump_dump>(opdump_dump{std::move(set), {}, {}});
  for (dump::OperatorRun run : made->set.runs()) made->operators.push_back(make_operator(std::move(run)));
  for (const dump::Problem& problem : made->set.problems())
    made->problems.push_back(problem.path.string() + ": " + problem.what);
  *result = made.release();
  return opdump::ok();
}

Result<const OperatorTexts*> find(const opdump_dump* dump, std::size_t index) {
  if (!dump || index >= dump->operators.size()) return usage("the dump has no operator of this number");
  return &dump->operators[index];
}

Result<> describe(const opdump_dump* dump, std::size_t index, opdump_operator* to) {
  if (!to || to->size < sizeof *to) return usage("opdump_dump_operator: op must have its size");
  OPDUMP_TRY(const OperatorTexts* op, find(dump, index));
  const dump::OperatorRun& run = op->run;
  to->rank = run.rank;
  to->graph = run.graph_id;
  to->step = run.step;
  to->name = op->name.c_str();
  to->type = run.type.c_str();
  to->phase = run.op ? model::kPhaseNames[static_cast<std::size_t>(run.op->phase)].data() : nullptr;
  to->source = op->source.empty() ? nullptr : op->source.c_str();
  to->slot_count = run.slots.size();
  return opdump::ok();
}

Result<const dump::Slot*> find_slot(const opdump_dump* dump, std::size_t index, std::size_t slot) {
  OPDUMP_TRY(const OperatorTexts* op, find(dump, index));
  if (slot >= op->run.slots.size()) return usage("the operator has no slot of this number");
  return &op->run.slots[slot];
}

Result<> describe(const opdump_dump* dump, std::size_t index, std::size_t number, opdump_slot* to) {
  if (!to || to->size < sizeof *to) return usage("opdump_dump_slot: `to` must have its size");
  OPDUMP_TRY(const dump::Slot* slot, find_slot(dump, index, number));
  to->dtype = static_cast<std::uint32_t>(slot->dtype);
  to->name = dump->operators[index].slot_names[number].c_str();
  to->file = slot->file.empty() ? nullptr : slot->file.c_str();
  to->undumped = slot->undumped_reason.empty() ? nullptr : slot->undumped_reason.c_str();
  to->shape = slot->shape ? slot->shape->dims().data() : nullptr;
  to->rank = slot->shape ? static_cast<std::uint32_t>(slot->shape->rank()) : 0;
  to->index = slot->index;
  to->is_output = slot->side == model::Side::output;
  return opdump::ok();
}

Result<> read(const opdump_dump* dump, std::size_t index, std::size_t number, opdump_elements** elements,
              opdump_tensor* tensor) {
  if (!elements || !tensor || tensor->size < sizeof *tensor)
    return usage("opdump_elements_read: elements must not be NULL, and tensor must have its size");
  *elements = nullptr;
  OPDUMP_TRY(const dump::Slot* slot, find_slot(dump, index, number));
  if (slot->file.empty())
    return Error(Code::not_found, dump->operators[index].name + ": the dump keeps no elements of " +
                                      dump->operators[index].slot_names[number]);
  OPDUMP_TRY(dump::StoredTensor stored, dump::StoredTensor::read(*slot));
  auto made = std::make_unique<opdump_elements>(opdump_elements{std::move(stored)});
  const model::TensorView& view = made->tensor.view();
  const std::uint32_t size = tensor->size;
  std::memset(tensor, 0, sizeof *tensor);
  tensor->size = size;
  tensor->dtype = static_cast<std::uint32_t>(view.dtype);
  tensor->rank = static_cast<std::uint32_t>(view.shape.rank());
  tensor->index = slot->index;
  tensor->shape = view.shape.dims().data();
  tensor->strides = view.strides.dims().data();
  tensor->data = view.data;
  *elements = made.release();
  return opdump::ok();
}

// The operators of a dump by what a finding says of them.
class Numbers {
 public:
  explicit Numbers(const opdump_dump& dump) {
    for (std::size_t i = 0; i < dump.operators.size(); ++i)
      numbers_.emplace(key_of(dump.operators[i].run), i);
  }
  std::size_t find(const std::shared_ptr<const dump::OperatorRun>& run) const {
    const auto found = run ? numbers_.find(key_of(*run)) : numbers_.end();
    return found == numbers_.end() ? OPDUMP_NO_OPERATOR : found->second;
  }

 private:
  std::map<Key, std::size_t> numbers_;
};

Result<> compare_both(const opdump_dump* golden, const opdump_dump* actual,
                      const opdump_compare_options* options, opdump_comparison** result) {
  if (!golden || !actual || !result || (options && options->size < sizeof *options))
    return usage("opdump_compare: two dumps, a place for the result, and options with their size are needed");
  *result = nullptr;
  compare::CompareOptions wanted;
  if (options && options->rtol) wanted.rtol = *options->rtol;
  if (options && options->atol) wanted.atol = *options->atol;
  if (options) wanted.threads = options->threads;
  auto made = std::make_unique<opdump_comparison>();
  const Numbers goldens(*golden), actuals(*actual);
  const auto finding_of = [&](const compare::OperatorComparison& op) {
    const compare::SlotComparison* slot = compare::key_slot(op);
    return opdump_comparison::Finding{op.run().rank,
                                      op.run().step,
                                      compare::operator_name(op.run()),
                                      slot ? opdump::report::describe_slot(*slot) : op.left_out,
                                      op.verdict,
                                      goldens.find(op.golden),
                                      actuals.find(op.actual)};
  };
  wanted.take = [&](const compare::OperatorComparison& op) { made->findings.push_back(finding_of(op)); };
  OPDUMP_TRY(const compare::Comparison compared, compare::compare_dumps(golden->set, actual->set, wanted));
  made->conclusion = opdump::report::conclusion(compared);
  made->outcome = compared.outcome;
  if (compared.first_bad) {
    const opdump_comparison::Finding bad = finding_of(*compared.first_bad);
    for (std::size_t i = 0; i < made->findings.size() && made->first_bad == OPDUMP_NO_OPERATOR; ++i)
      if (made->findings[i].golden == bad.golden && made->findings[i].actual == bad.actual)
        made->first_bad = i;
  }
  *result = made.release();
  return opdump::ok();
}

Result<> describe(const opdump_comparison* comparison, std::size_t index, opdump_finding* to) {
  if (!comparison || index >= comparison->findings.size() || !to || to->size < sizeof *to)
    return usage("opdump_comparison_finding: no finding of this number, or no size");
  const opdump_comparison::Finding& from = comparison->findings[index];
  to->rank = from.rank;
  to->step = from.step;
  to->name = from.name.c_str();
  to->verdict = compare::kVerdictNames[static_cast<std::size_t>(from.verdict)].data();
  to->reason = from.reason.c_str();
  to->golden = from.golden;
  to->actual = from.actual;
  return opdump::ok();
}

}  // namespace

const char* opdump_read_error(void) { return last_error.c_str(); }

opdump_status opdump_dump_open(const char* path, opdump_dump** dump) {
  return call([&] { return open(path, dump); });
}

void opdump_dump_close(opdump_dump* dump) { delete dump; }

size_t opdump_dump_operator_count(const opdump_dump* dump) { return dump ? dump->operators.size() : 0; }

opdump_status opdump_dump_operator(const opdump_dump* dump, size_t index, opdump_operator* op) {
  return call([&] { return describe(dump, index, op); });
}

opdump_status opdump_dump_slot(const opdump_dump* dump, size_t index, size_t slot, opdump_slot* to) {
  return call([&] { return describe(dump, index, slot, to); });
}

const char* opdump_dump_problem(const opdump_dump* dump, size_t number) {
  return dump && number < dump->problems.size() ? dump->problems[number].c_str() : nullptr;
}

opdump_status opdump_elements_read(const opdump_dump* dump, size_t index, size_t slot,
                                   opdump_elements** elements, opdump_tensor* tensor) {
  return call([&] { return read(dump, index, slot, elements, tensor); });
}

void opdump_elements_free(opdump_elements* elements) { delete elements; }

opdump_status opdump_compare(const opdump_dump* golden, const opdump_dump* actual,
                             const opdump_compare_options* options, opdump_comparison** comparison) {
  return call([&] { return compare_both(golden, actual, options, comparison); });
}

void opdump_comparison_close(opdump_comparison* comparison) { delete comparison; }

opdump_outcome opdump_comparison_outcome(const opdump_comparison* comparison) {
  return comparison ? static_cast<opdump_outcome>(comparison->outcome) : OPDUMP_NOTHING_COMPARED;
}

const char* opdump_comparison_conclusion(const opdump_comparison* comparison) {
  return comparison ? comparison->conclusion.c_str() : "";
}

size_t opdump_comparison_first_bad(const opdump_comparison* comparison) {
  return comparison ? comparison->first_bad : OPDUMP_NO_OPERATOR;
}

size_t opdump_comparison_finding_count(const opdump_comparison* comparison) {
  return comparison ? comparison->findings.size() : 0;
}

opdump_status opdump_comparison_finding(const opdump_comparison* comparison, size_t index,
                                        opdump_finding* finding) {
  return call([&] { return describe(comparison, index, finding); });
}
