# Writes the catalog into a .cc: one row for each models/catalog/*.json, sorted by name. The index
# (name, hf_id, aliases) is read here, at configure time; the program parses a model when it is asked for.
function(shardplan_embed_catalog output)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/catalog/*.json)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  set(rows "")
  set(names "")
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WLE)
    list(APPEND names ${name})
  endforeach()
  list(SORT names)
  foreach(name IN LISTS names)
    file(READ ${CMAKE_CURRENT_SOURCE_DIR}/catalog/${name}.json text)
    string(JSON hf_id GET "${text}" hf_id)
    string(JSON alias_count ERROR_VARIABLE no_aliases LENGTH "${text}" aliases)
    set(aliases "")
    if(NOT no_aliases AND alias_count GREATER 0)
      math(EXPR last "${alias_count} - 1")
      foreach(index RANGE ${last})
        string(JSON alias GET "${text}" aliases ${index})
        string(APPEND aliases "\"${alias}\", ")
      endforeach()
    endif()
    string(APPEND rows "      {\"${name}\", \"${hf_id}\", {${aliases}}, R\"config(${text})config\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT [[
// Generated from models/catalog/*.json by models/catalog/embed.cmake.
#include "models/catalog.h"

namespace shardplan {

const std::vector<CatalogEntry>& model_catalog() {
  static const std::vector<CatalogEntry> entries = {
@rows@  };
  return entries;
}

}  // namespace shardplan
]])
endfunction()
