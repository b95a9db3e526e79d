-- Nothing here is only in one of the versions of Lua that Wireshark has had (5.2 to 5.4).

local myrinet = Proto("myrinet", "Myrinet packet")
local malformed = ProtoExpert.new("myrinet.malformed", "Not as long as its header says",
  expert.group.MALFORMED, expert.severity.ERROR)
myrinet.experts = { malformed }

-- What is in no structure. A packet without an id has none in its message.
local none = 65535
local parts = {
  message = ProtoField.string("myrinet.message", "message", base.ASCII,
    "Id of the packet: its node and its number there."),
  route_bytes = ProtoField.bytes("myrinet.route_bytes", "route", base.NONE,
    "A byte for each switch before it."),
  crc32 = ProtoField.uint32("myrinet.crc32", "crc32", base.HEX, nil, nil, "Of header and data."),
  crc8 = ProtoField.uint8("myrinet.crc8", "crc8", base.HEX, nil, nil, "Of all before it."),
}
local tail_size = 5
myrinet.fields = {}
for _, structure in pairs(structures) do
  for _, field in ipairs(structure.fields) do table.insert(myrinet.fields, field.field) end
end
for _, field in pairs(parts) do table.insert(myrinet.fields, field) end

-- Shows the fields of a structure, and returns their values by name.
local function show(structure, buffer, tree)
  local values = {}
  for _, field in ipairs(structure.fields) do
    local range = buffer(field.offset, field.size)
    tree:add(field.field, range)
    values[field.name] = range:uint()
  end
  return values
end

function myrinet.dissector(buffer, pinfo, tree)
  local capture_size, header_size = structures.capture_header.size, structures.packet_header.size
  local shown = tree:add(myrinet, buffer())
  pinfo.cols.protocol = "MYRINET"
  if buffer:len() < capture_size then
    shown:add_proto_expert_info(malformed)
    return
  end
  local id = show(structures.capture_header, buffer(0, capture_size), shown)
  local text = ""
  if id.source_nid ~= none then
    text = id.source_nid .. ":" .. id.serial
    shown:add(parts.message, buffer(0, capture_size), text)
    text = "message " .. text .. ", "
  end
  local start = capture_size + id.route
  if buffer:len() < start + header_size + tail_size then
    shown:add_proto_expert_info(malformed)
    return
  end
  if id.route > 0 then shown:add(parts.route_bytes, buffer(capture_size, id.route)) end
  local value = show(structures.packet_header, buffer(start, header_size), shown)
  local kind = enums.packet_type[value.kind] or "unknown"
  pinfo.cols.src = value.source .. "." .. value.source_point
  pinfo.cols.dst = value.target .. "." .. value.target_point
  pinfo.cols.info = string.format("%s%s, %d bytes", text, kind, value.length)
  local tail = buffer:len() - tail_size
  shown:add(parts.crc32, buffer(tail, 4))
  shown:add(parts.crc8, buffer(tail + 4, 1))
  local data = start + header_size
  if tail ~= data + value.length then shown:add_proto_expert_info(malformed) end
  if tail > data then
    local name = kind == "FRAME" and "eth_withoutfcs" or "data"
    Dissector.get(name):call(buffer(data, tail - data):tvb(), pinfo, tree)
  end
end

-- Link type 150 of the file.
DissectorTable.get("wtap_encap"):add(wtap.USER3, myrinet)
