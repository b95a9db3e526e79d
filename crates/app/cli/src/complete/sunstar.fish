# Completion of sunstar for fish: the command itself tells what may stand at the cursor.
function __sunstar_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    test (count $current) -eq 0; and set current ''
    for line in ($typed[1] complete -- $typed $current 2>/dev/null)
        if string match -qr '^:(files|folders) ' -- $line
            set -l text (string replace -r '^:\w+ ' '' -- $line)
            set -l before (string sub -l (math (string length -- $current) - (string length -- $text)) -- $current)
            for file in (__fish_complete_path $text)
                if string match -q ':files *' -- $line; or string match -qr '/(\t|$)' -- $file
                    echo $before$file
                end
            end
        else
            echo $line
        end
    end
end
complete -c sunstar -f -a '(__sunstar_complete)'
