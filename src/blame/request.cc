#include "blame/request.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text/json.h"
#include "compare/facts/arguments.h"
#include "compare/rules/accuse/regions.h"
#include "model/operator_traits.h"

namespace opdump::blame {
namespace {

using nlohmann::json;

// Types that torch has, by its names for them.
std::string_view torch_name(model::DType dtype) {
  switch (dtype) {
    case model::DType::undefined:
    case model::DType::uint16:
    case model::DType::uint32:
    case model::DType::uint64:
      return {};
    case model::DType::boolean:
      return "bool";
    default:
      return static_cast<int>(dtype) <= static_cast<int>(model::DType::complex128)
                 ? model::dtype_info(dtype).name
                 : std::string_view();
  }
}

// `is_in_place`: of an operator that writes to what it reads.
Result<json> place_of(const dump::Slot& slot, bool is_in_place) {
  const std::string_view dtype = torch_name(slot.dtype);
  if (dtype.empty())
    return Error(Code::unsupported,
                 "torch has no tensors of " + std::string(model::dtype_info(slot.dtype).name));
  json place{{"dtype", dtype}};
  if (slot.shape) place["shape"] = slot.shape->dims();
  if (slot.file.empty()) {
    const bool has_no_bytes = slot.shape && model::element_count(*slot.shape) == 0u;
    // A kernel may have filled memory that no operator has written to.
    const bool says_nothing =
        (slot.undumped_reason == "uninitialised" && is_in_place) || slot.undumped_reason == "only written to";
    if (has_no_bytes || (says_nothing && slot.shape)) return place;
    if (slot.undumped_reason == "uninitialised")
      return Error(Code::unsupported, "it reads memory that no recorded operator has written to");
    return Error(Code::unsupported, "the dump has only statistics of its tensors");
  }
  place["file"] = slot.file;
  if (!slot.part) return place;
  const std::string_view stored =
      torch_name(slot.stored_dtype == model::DType::undefined ? slot.dtype : slot.stored_dtype);
  if (slot.packing != dump::Packing::none || stored.empty() || !slot.shape)
    return Error(Code::unsupported, "the dump packs its tensors; opdump convert unpacks them");
  place["offset"] = slot.part->offset;
  place["stored"] = stored;
  return place;
}

Result<json> side_of(const dump::OperatorRun& run) {
  if (model::has_trait(run.type, model::Trait::region))
    return Error(Code::unsupported, "the code of a compiled region is not in the dump");
  if (run.is_joined) return Error(Code::unsupported, "it stands for several operators");
  if (run.form == nullptr || run.form->function.empty())
    return Error(Code::unsupported, "only recordings of PyTorch and ONNX name the functions to run");
  json side{{"inputs", json::object()}, {"outputs", json::object()}};
  bool has_output = false;
  for (const dump::Slot& slot : run.slots) {
    const bool is_output = slot.side == model::Side::output;
    if (slot.undumped_reason == "out= argument" || (is_output && !slot.has_data())) continue;
    OPDUMP_TRY(json place, place_of(slot, run.type.ends_with('_')));
    side[is_output ? "outputs" : "inputs"][std::to_string(slot.index)] = std::move(place);
    has_output |= is_output;
  }
  if (!has_output) return Error(Code::unsupported, "none of its outputs is in the dump");
  return side;
}

// The arguments keep their text: their order counts.
std::string with_arguments(const json& side, const dump::OperatorRun& run) {
  std::string text = json_text(side);
  text.pop_back();
  return text + R"(,"arguments":)" + (run.form->arguments.empty() ? "{}" : run.form->arguments) + "}";
}

json describe(const Without& without) {
  json fault = json::object();
  if (without.own) fault["own"] = true;
  if (without.argument) fault["argument"] = true;
  if (!without.inputs.empty()) fault["inputs"] = without.inputs;
  return fault;
}

}  // namespace

bool execute_different_functions(const dump::OperatorRun& golden, const dump::OperatorRun& actual) {
  return golden.form != nullptr && actual.form != nullptr &&
         (golden.form->function != actual.form->function ||
          compare::is_rewritten_by_engine(&golden, &actual));
}

Result<std::string> make_request(const dump::OperatorRun* golden, const dump::OperatorRun* actual,
                                 const Question& question) {
  std::string sides, function;
  for (const auto& [name, run] : {std::pair("golden", golden), std::pair("actual", actual)}) {
    if (run == nullptr) continue;
    OPDUMP_TRY(const json side, side_of(*run));
    sides += (sides.empty() ? "\"" : ",\"") + std::string(name) + "\":" + with_arguments(side, *run);
    if (!function.empty() && function != run->form->function)
      return Error(Code::unsupported, "the two runs execute " + function + " and " + run->form->function);
    function = run->form->function;
  }
  std::string asked;
  for (const auto& [name, is_asked] :
       {std::pair("argues", question.argues), std::pair("shares", question.shares),
        std::pair("calibrates", question.calibrates), std::pair("repeats", question.repeats)})
    if (is_asked) asked += "\"" + std::string(name) + "\":true,";
  if (question.without) asked += "\"without\":" + json_text(describe(*question.without)) + ",";
  return "{" + asked + R"("function":)" + json_text(json(function)) + R"(,"sides":{)" + sides + "}}";
}

std::string make_limits_request(const std::string& path) { return json_text(json{{"limits", path}}); }

std::string make_write_request(const std::string& path, const std::string& gains) {
  return R"({"write_limits":)" + json_text(json(path)) + R"(,"gains":)" + gains + "}";
}

std::string make_gains_request() { return json_text(json{{"gains", true}}); }

Result<std::string> make_put_request(const dump::Slot& recorded, const dump::Slot& instead) {
  OPDUMP_TRY(const json place, place_of(recorded, false));
  OPDUMP_TRY(const json other, place_of(instead, false));
  return json_text(json{{"put", other}, {"for", place}});
}

std::string make_forget_request() { return json_text(json{{"forget", true}}); }

Result<std::string> make_script_request(const dump::OperatorRun& run, const std::string& name,
                                        const std::string& script) {
  OPDUMP_TRY(const json side, side_of(run));
  const json request{{"function", run.form->function}, {"script", script}, {"name", name}};
  std::string text = json_text(request);
  text.pop_back();
  return text + R"(,"side":)" + with_arguments(side, run) + "}";
}

}  // namespace opdump::blame
