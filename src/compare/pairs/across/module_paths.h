// The paths of modules in two graphs of data flow, made alike: what is around a network, and how a framework
// counts calls, is no part of a path.
#pragma once

#include <set>
#include <string>

#include "compare/pairs/across/data_flow.h"

namespace opdump::compare {

// "layer1.0" is in "layer1", and in itself.
bool is_in(const std::string& path, const std::string& scope);

// Of the nodes that can have a partner.
std::set<std::string> paths_of(const DataFlow& flow);

// Gives the nodes of both the paths that most of the other ones have.
void align_paths(DataFlow& golden, DataFlow& actual);

}  // namespace opdump::compare
