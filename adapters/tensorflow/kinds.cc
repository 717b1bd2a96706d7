#include "kinds.h"

#include <unordered_map>

namespace opdump::tensorflow_adapter {
namespace {

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

const std::unordered_map<std::string_view, Kind>& known_kinds() {
  static const auto* const kinds = new std::unordered_map<std::string_view, Kind>{
      {"Reshape", Kind::view},
      {"Squeeze", Kind::view},
      {"ExpandDims", Kind::view},
      {"ReadVariableOp", Kind::reading},
      {"_ReadVariablesOp", Kind::reading},
      {"Const", Kind::constant},
      {"HostConst", Kind::constant},
      {"_EagerConst", Kind::constant},
      {"_Arg", Kind::argument},
      {"_DeviceArg", Kind::argument},
      {"PartitionedCall", Kind::calling},
      {"StatefulPartitionedCall", Kind::calling},
      {"RemoteCall", Kind::calling},
      {"If", Kind::calling},
      {"StatelessIf", Kind::calling},
      {"Case", Kind::calling},
      {"StatelessCase", Kind::calling},
      {"While", Kind::calling},
      {"StatelessWhile", Kind::calling},
      {"For", Kind::calling},
      {"_Retval", Kind::plumbing},
      {"_DeviceRetval", Kind::plumbing},
      {"_Send", Kind::plumbing},
      {"_Recv", Kind::plumbing},
      {"_HostSend", Kind::plumbing},
      {"_HostRecv", Kind::plumbing},
      {"NoOp", Kind::plumbing},
      {"ControlTrigger", Kind::plumbing},
      {"Identity", Kind::plumbing},
      {"IdentityN", Kind::plumbing},
      {"StopGradient", Kind::plumbing},
      {"PreventGradient", Kind::plumbing},
      {"Switch", Kind::plumbing},
      {"RefSwitch", Kind::plumbing},
      {"_SwitchN", Kind::plumbing},
      {"Merge", Kind::plumbing},
      {"RefMerge", Kind::plumbing},
      {"Enter", Kind::plumbing},
      {"RefEnter", Kind::plumbing},
      {"Exit", Kind::plumbing},
      {"RefExit", Kind::plumbing},
      {"NextIteration", Kind::plumbing},
      {"RefNextIteration", Kind::plumbing},
      {"LoopCond", Kind::plumbing},
      {"Assert", Kind::plumbing},
      {"Print", Kind::plumbing},
      {"PrintV2", Kind::plumbing},
      {"Placeholder", Kind::plumbing},
      {"PlaceholderWithDefault", Kind::plumbing},
      {"VarHandleOp", Kind::plumbing},
      {"_VarHandlesOp", Kind::plumbing},
      {"VarIsInitializedOp", Kind::plumbing},
      {"IsVariableInitialized", Kind::plumbing},
      {"DestroyResourceOp", Kind::plumbing},
      {"Variable", Kind::plumbing},
      {"VariableV2", Kind::plumbing},
      {"TemporaryVariable", Kind::plumbing},
  };
  return *kinds;
}

}  // namespace

std::string known_type(std::string_view type) {
  for (const std::string_view prefix : {"_MklNative", "_MklEager", "_Mkl"}) {
    if (!starts_with(type, prefix)) continue;
    const std::string_view rest = type.substr(prefix.size());
    return (starts_with(rest, "Fused") ? "_" : "") + std::string(rest);
  }
  return std::string(type);
}

Kind kind_of(std::string_view type) {
  if (const auto known = known_kinds().find(type); known != known_kinds().end()) return known->second;
  if (contains(type, "Dataset") || contains(type, "Summary")) return Kind::plumbing;
  if (contains(type, "Iterator"))
    return starts_with(type, "IteratorGetNext") ? Kind::computing : Kind::plumbing;
  if (starts_with(type, "Assign") || starts_with(type, "Resource") || is_optimizer_type(type))
    return Kind::updating;
  return Kind::computing;
}

bool is_optimizer_type(std::string_view type) {
  return starts_with(type, "ResourceApply") || starts_with(type, "ResourceSparseApply") ||
         starts_with(type, "SparseApply") ||
         (starts_with(type, "Apply") && type.size() > 5 && type[5] >= 'A' && type[5] <= 'Z');
}

}  // namespace opdump::tensorflow_adapter
