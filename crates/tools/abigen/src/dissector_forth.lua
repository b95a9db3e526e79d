-- Nothing here is only in one of the versions of Lua that Wireshark has had (5.2 to 5.4).

local forth = Proto("forth", "RDMA packet")
local malformed = ProtoExpert.new("forth.malformed", "Not as long as its header says",
  expert.group.MALFORMED, expert.severity.ERROR)
forth.experts = { malformed }
forth.fields = {}
for _, structure in pairs(structures) do
  for _, field in ipairs(structure.fields) do
    table.insert(forth.fields, field.field)
    for _, flag in ipairs(field.flags or {}) do table.insert(forth.fields, flag) end
  end
end

-- Shows the fields of a structure, and returns their values by name.
local function show(structure, buffer, tree)
  local values = {}
  for _, field in ipairs(structure.fields) do
    local range = buffer(field.offset, field.size)
    local item = tree:add_le(field.field, range)
    for _, flag in ipairs(field.flags or {}) do item:add_le(flag, range) end
    values[field.name] = range:le_uint()
  end
  return values
end

function forth.dissector(buffer, pinfo, tree)
  local header_size, trailer_size = structures.packet_header.size, structures.packet_trailer.size
  local shown = tree:add(forth, buffer())
  pinfo.cols.protocol = "RDMA"
  if buffer:len() < header_size then
    shown:add_proto_expert_info(malformed)
    return
  end
  local value = show(structures.packet_header, buffer(0, header_size), shown)
  pinfo.cols.src = tostring(value.source)
  pinfo.cols.dst = "flow " .. value.flow
  pinfo.cols.info = string.format("%d words to 0x%08x%s", value.words, value.destination,
    value.flags % 2 == 1 and ", interrupts" or "")
  local trailer = header_size + 8 * value.words
  if buffer:len() ~= trailer + trailer_size then
    shown:add_proto_expert_info(malformed)
    return
  end
  show(structures.packet_trailer, buffer(trailer, trailer_size), shown)
  Dissector.get("data"):call(buffer(header_size, 8 * value.words):tvb(), pinfo, tree)
end

-- Link type 148 of the file.
DissectorTable.get("wtap_encap"):add(wtap.USER1, forth)
