// Scalars: text to value, value to text, and what the schema says about each.
//
// `read_*` report to the context and return false; they check the bounds of the field being read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "simcore/config/read_context.hpp"
#include "simcore/quantity.hpp"
#include "simcore/quantity_text.hpp"

namespace shardsim::simcore {

/// Only `true` and `false`.
bool read_scalar(const ConfigNode& node, bool& value, ReadContext& context);
/// Plain decimal integers: no octal or hexadecimal look-alikes, no exponent, no quotes.
bool read_integer(const ConfigNode& node, std::int64_t low, std::int64_t high, std::int64_t& value,
                  ReadContext& context);
/// Finite decimals, with or without exponent.
bool read_scalar(const ConfigNode& node, double& value, ReadContext& context);
/// Any scalar, as written.
bool read_scalar(const ConfigNode& node, std::string& value, ReadContext& context);
bool read_scalar(const ConfigNode& node, SimTime& value, ReadContext& context);
bool read_scalar(const ConfigNode& node, Bytes& value, ReadContext& context);
bool read_scalar(const ConfigNode& node, BitRate& value, ReadContext& context);
bool read_scalar(const ConfigNode& node, FlopRate& value, ReadContext& context);
bool read_scalar(const ConfigNode& node, Fraction& value, ReadContext& context);
/// Index of the name that the node spells.
bool read_name(const ConfigNode& node, std::span<const std::string_view> names, std::size_t& index,
               ReadContext& context);

/// YAML flow text that reads back as the same value.
std::string print_scalar(bool value);
std::string print_scalar(std::int64_t value);
std::string print_scalar(double value);
std::string print_scalar(const std::string& value);
std::string print_scalar(SimTime value);
std::string print_scalar(Bytes value);
std::string print_scalar(BitRate value);
std::string print_scalar(FlopRate value);
std::string print_scalar(Fraction value);

TypeSchema scalar_schema(const bool*);
TypeSchema scalar_schema(const std::int64_t*);
TypeSchema scalar_schema(const double*);
TypeSchema scalar_schema(const std::string*);
TypeSchema scalar_schema(const SimTime*);
TypeSchema scalar_schema(const Bytes*);
TypeSchema scalar_schema(const BitRate*);
TypeSchema scalar_schema(const FlopRate*);
TypeSchema scalar_schema(const Fraction*);
TypeSchema enum_schema(std::span<const std::string_view> names);
/// For Codecs of quantities of your own (see simcore/quantity_text.hpp).
TypeSchema quantity_schema(const QuantityKind& kind);

Bound make_bound(std::int64_t value);
Bound make_bound(double value);
Bound make_bound(SimTime value);
Bound make_bound(Bytes value);
Bound make_bound(BitRate value);
Bound make_bound(FlopRate value);
Bound make_bound(Fraction value);

}  // namespace shardsim::simcore
