// The arguments of an operator as they cross the door: trees of structs whose size is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/graph.h"
#include "opdump/opdump.h"

namespace opdump::abi {

// All of them but graphs. Nothing if the first one's size is wrong; what is nested too deeply is left out.
std::vector<model::Argument> to_arguments(const opdump_argument* arguments, std::size_t count);

// The function that the call executes (OPDUMP_ARGUMENT_FUNCTION); empty if none is given.
std::string to_function(const opdump_argument* arguments, std::size_t count);

// State of the engine (OPDUMP_ARGUMENT_STATE).
std::map<std::string, std::string> to_state(const opdump_argument* arguments, std::size_t count);

// A number that differs, in all likelihood, between different arguments; graphs among them do not count.
std::uint64_t hash_arguments(const opdump_argument* arguments, std::size_t count);

// The graphs among them (OPDUMP_ARGUMENT_GRAPH). What does not have the form that opdump.h gives is left out.
std::vector<model::Body> to_bodies(const opdump_argument* arguments, std::size_t count);

}  // namespace opdump::abi
